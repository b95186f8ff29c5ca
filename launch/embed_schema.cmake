# Turns the schema into a source file: cmake -D INPUT=schema.json -D OUTPUT=schema_text.cpp -P this
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"cambrian/launch/config/schema.hpp\"

namespace cambrian::launch {

std::string_view schema_text() {
    return R\"schema(${text})schema\";
}

}  // namespace cambrian::launch
")
