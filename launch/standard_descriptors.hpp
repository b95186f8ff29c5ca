#pragma once

namespace cambrian::launch {

/// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed: the next file that is
/// opened would get its number, and what is meant for the console would be written into it. Throws
/// Error when /dev/null cannot be opened.
void open_standard_descriptors();

}  // namespace cambrian::launch
