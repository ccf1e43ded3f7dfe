// Draws each chart anew with tooltips and at the width of the page; its still stays where that fails.
for (const figure of document.querySelectorAll("figure")) {
  const spec = JSON.parse(figure.querySelector("script.spec").textContent);
  const live = figure.querySelector(".live");
  const still = figure.querySelector(".still");
  const room = document.createElement("div");
  live.append(room);
  const options = {
    actions: false, renderer: "svg", ast: true, tooltip: { theme: "infranoise" },
  };
  vegaEmbed(room, spec, options).then(
    () => { still.hidden = true; },
    () => { live.replaceChildren(); },
  );
}
