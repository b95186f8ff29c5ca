#pragma once

/// The one place of the version; CMake reads these three lines.
#define CAMBRIAN_VERSION_MAJOR 0
#define CAMBRIAN_VERSION_MINOR 1
#define CAMBRIAN_VERSION_PATCH 0
