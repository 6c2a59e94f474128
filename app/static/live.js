// Adds the steps of a running attempt to its page as they come, and loads the page anew when it has moved on.
// Without this file, the page is as it was when it was loaded.
(function () {
  "use strict";
  var list = document.querySelector("[data-live]");
  if (!list || !window.EventSource) return;
  var source = new EventSource(list.getAttribute("data-live"));
  var note = document.getElementById("live-note");
  var phase = document.getElementById("live-phase");

  function parsed(text) {
    var template = document.createElement("template");
    template.innerHTML = text; // ours, escaped by the server; the page's policy lets no script in it run
    return template.content.firstElementChild;
  }

  source.addEventListener("step", function (event) {
    var step = parsed(event.data);
    if (!step || document.getElementById(step.id)) return;
    var nothing = document.getElementById("no-steps");
    if (nothing) nothing.remove();
    list.appendChild(step);
  });
  source.addEventListener("phase", function (event) {
    var steps = document.querySelectorAll(".rail li");
    var isOver = true;
    steps.forEach(function (step) {
      var isNow = step.getAttribute("data-phase") === event.data;
      isOver = isOver && !isNow;
      step.className = isNow ? "now" : isOver ? "over" : "later";
      if (isNow) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
      if (isNow && phase) phase.textContent = step.firstElementChild.textContent;
    });
  });
  source.addEventListener("moved", function () {
    source.close();
    if (note) note.textContent = "The task has moved on; the page is loaded anew.";
    window.location.reload();
  });
  source.addEventListener("end", function () {
    source.close();
    if (note) note.textContent = "Nothing more will come.";
  });
  source.onerror = function () {
    if (note) note.textContent = source.readyState === 2 ? "Not connected. Load the page again." : "Connecting again…";
  };
  source.onopen = function () {
    if (note) note.textContent = "Live: new steps appear here.";
  };
})();
