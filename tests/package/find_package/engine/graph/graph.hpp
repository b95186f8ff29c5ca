#pragma once

// A user's own file under a path that Cambrian uses too: neither may hide the other.
namespace consumer {
int answer();
}
