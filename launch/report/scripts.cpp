#include "cambrian/launch/report/scripts.hpp"

#include <fmt/format.h>

namespace cambrian::launch {

std::string replay_script() {
    return R"(<script>
(() => {
  const data = JSON.parse(document.getElementById('replay-data').textContent);
  const svg = document.getElementById('replay'), moving = svg.querySelector('.moving');
  const bar = document.getElementById('replay-bar'), label = document.getElementById('replay-label');
  const button = document.getElementById('replay-button');
  let frame = 0, timer = 0;
  const element = ([kind, ink, size, points, text]) => {
    const node = document.createElementNS(svg.namespaceURI, ['polyline', 'polygon', 'circle', 'text'][kind]);
    const set = (attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
    if (kind < 2) set({points: points.join(' ')});
    if (kind == 0) set({stroke: data.inks[ink], 'stroke-width': size, fill: 'none', 'stroke-linecap': 'round', 'stroke-linejoin': 'round'});
    else if (kind < 3) set({fill: data.inks[ink]});
    if (kind == 2) set({cx: points[0], cy: points[1], r: size});
    if (kind == 3) { set({x: points[0], y: points[1], 'font-size': size, 'text-anchor': 'middle'}); node.textContent = text; }
    return node;
  };
  const show = (index) => {
    frame = index;
    moving.replaceChildren(...data.frames[index].map(element));
    bar.value = index;
    label.textContent = 'step ' + Math.min(index * data.stride, data.last) + ' of ' + data.steps;
  };
  const pause = () => { clearInterval(timer); timer = 0; button.textContent = 'Play'; };
  const play = () => {
    if (frame + 1 >= data.frames.length) show(0);
    button.textContent = 'Pause';
    timer = setInterval(() => frame + 1 < data.frames.length ? show(frame + 1) : pause(), data.milliseconds);
  };
  button.onclick = () => timer ? pause() : play();
  bar.max = data.frames.length - 1;
  bar.oninput = () => { pause(); show(Number(bar.value)); };
  document.getElementById('replay-controls').hidden = false;
  show(0);
})();
</script>
)";
}

std::string watch_script(std::uint64_t version) {
    return fmt::format(R"(<script>
setInterval(async () => {{
  try {{
    const answer = await fetch('version', {{cache: 'no-store'}});
    if (answer.ok && await answer.text() !== '{}') location.reload();
  }} catch (error) {{ /* The server has ended: what it showed stays. */ }}
}}, 2000);
</script>
)",
                       version);
}

}  // namespace cambrian::launch
