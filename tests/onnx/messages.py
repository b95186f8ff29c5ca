"""Reads a .onnx file with nothing but Python: the messages of onnx.proto3 that models use, as dictionaries."""
import struct

# Of each message: field number -> (name, kind, whether it repeats). A kind is a message below, or how bytes are read.
MESSAGES = {
    "Model": {1: ("ir_version", "int", False), 2: ("producer_name", "text", False), 3: ("producer_version", "text", False),
              6: ("doc_string", "text", False), 7: ("graph", "Graph", False), 8: ("opset_import", "OperatorSet", True),
              14: ("metadata_props", "Entry", True)},
    "OperatorSet": {1: ("domain", "text", False), 2: ("version", "int", False)},
    "Entry": {1: ("key", "text", False), 2: ("value", "text", False)},
    "Graph": {1: ("node", "Node", True), 2: ("name", "text", False), 5: ("initializer", "Tensor", True),
              11: ("input", "Value", True), 12: ("output", "Value", True)},
    "Node": {1: ("input", "text", True), 2: ("output", "text", True), 3: ("name", "text", False),
             4: ("op_type", "text", False), 5: ("attribute", "Attribute", True)},
    "Attribute": {1: ("name", "text", False), 3: ("i", "int", False), 4: ("s", "text", False), 6: ("g", "Graph", False), 8: ("ints", "int", True),
                  20: ("type", "int", False)},
    "Tensor": {1: ("dims", "int", True), 2: ("data_type", "int", False), 6: ("string_data", "text", True),
               8: ("name", "text", False), 9: ("raw_data", "bytes", False)},
    "Value": {1: ("name", "text", False), 2: ("type", "Type", False), 3: ("doc_string", "text", False)},
    "Type": {1: ("tensor_type", "TensorType", False)},
    "TensorType": {1: ("elem_type", "int", False), 2: ("shape", "Shape", False)},
    "Shape": {1: ("dim", "Dimension", True)},
    "Dimension": {1: ("dim_value", "int", False), 2: ("dim_param", "text", False)},
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (value - (1 << 64) if value >= 1 << 63 else value), at


def varints(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def message(data, name):
    fields = MESSAGES[name]
    result = {field: [] if repeats else None for field, _, repeats in fields.values()}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number not in fields:
            raise ValueError(f"a field {number} of {name} that this reader does not know")
        field, kind, repeats = fields[number]
        if wire == 0:
            value, at = varint(data, at)
            values = [value]
        elif wire == 2:
            size, at = varint(data, at)
            part, at = data[at:at + size], at + size
            if len(part) != size:
                raise ValueError(f"{name}.{field} ends early")
            if kind == "int":
                values = varints(part)
            else:
                values = [part.decode() if kind == "text" else part if kind == "bytes" else message(part, kind)]
        else:
            raise ValueError(f"{name}.{field} is of the wire type {wire}")
        if repeats:
            result[field] += values
        else:
            result[field] = values[-1]
    return result


def read(path):
    with open(path, "rb") as file:
        return message(file.read(), "Model")


FORMATS = {1: "f", 6: "i", 7: "q", 9: "?", 11: "d"}


def elements(tensor):
    """What a constant holds."""
    if tensor["data_type"] == 8:
        return list(tensor["string_data"])
    form = FORMATS[tensor["data_type"]]
    raw = tensor["raw_data"] or b""
    return list(struct.unpack(f"<{len(raw) // struct.calcsize('<' + form)}{form}", raw))
