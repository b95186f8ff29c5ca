#include "cambrian/engine/backend/backend.hpp"

namespace cambrian {

std::string ArithmeticFingerprint::text() const {
    std::string text = kind + " " + math + ", arithmetic " + build;
    if (!device.empty()) text += ", on " + device;
    if (!library.empty()) text += ", with " + library;
    return text;
}

}  // namespace cambrian
