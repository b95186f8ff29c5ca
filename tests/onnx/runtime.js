// Runs models by ONNX Runtime: node runtime.js FOLDER REQUESTS. FOLDER has node_modules/onnxruntime-web; REQUESTS is JSON, a list
// of {model, states, runs, output, classes}: shapes of states, which a network with a memory carries from run to run; of each run {inputs,
// begins, counts}: inputs by name, [type, shape, elements as texts], whether a sequence begins, whether its answer counts; the output that is asked for, and whether the one with classes is, too. Prints {outputs,
// classes} or {error} for each request, a line of JSON.
const fs = require("fs");
const path = require("path");
const ort = require(path.join(path.resolve(process.argv[2]), "node_modules/onnxruntime-web"));

ort.env.wasm.numThreads = 1;

const types = { 1: ["float32", Float32Array], 11: ["float64", Float64Array] };
const tensor = ([type, shape, elements]) => new ort.Tensor(types[type][0], types[type][1].from(elements.map(Number)), shape);
const zeros = (shape) => new ort.Tensor("float32", new Float32Array(shape.reduce((a, b) => a * b, 1)), shape);
const text = (x) => (Number.isFinite(x) ? x : String(x).replace("Infinity", "inf").replace("NaN", "nan"));

async function answersTo(request) {
  const session = await ort.InferenceSession.create(fs.readFileSync(request.model), { executionProviders: ["wasm"] });
  let carried = {};
  const answers = { outputs: [], classes: [] };
  for (const { inputs, begins, counts } of request.runs) {
    if (begins) carried = Object.fromEntries(Object.entries(request.states).map(([name, shape]) => [name, zeros(shape)]));
    const feeds = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensor(value)]));
    const results = await session.run({ ...feeds, ...carried });
    carried = Object.fromEntries(Object.keys(carried).map((name) => [name, results["next." + name.slice("state.".length)]]));
    if (!counts) continue;
    const { data, dims } = results[request.output];
    for (let row = 0; row < dims[0]; row++) answers.outputs.push(Array.from(data.slice(row * dims[1], (row + 1) * dims[1]), text));
    if (request.classes) answers.classes.push(...Array.from(results.class.data, String));
  }
  await session.release();
  return answers;
}

async function main() {
  for (const request of JSON.parse(fs.readFileSync(process.argv[3]))) {
    try {
      console.log(JSON.stringify(await answersTo(request)));
    } catch (error) {
      console.log(JSON.stringify({ error: String(error) }));
    }
  }
}

main();
