// Repeat an attempt at growing intervals, while the page is visible.

const FIRST_WAIT_MS = 5000;
const MAX_WAIT_MS = 60_000;

// `attempt` receives a signal that is aborted by `stop`. The moments are random, so that all open pages do not come at
// once.
export function startRetries(attempt) {
  const aborter = new AbortController();
  let wait = FIRST_WAIT_MS;
  let timer = null;
  let isRunning = false;

  function schedule() {
    timer = setTimeout(retry, wait * (0.5 + Math.random()));
    wait = Math.min(2 * wait, MAX_WAIT_MS);
  }

  async function retry() {
    if (document.hidden) {
      document.addEventListener("visibilitychange", retry, { once: true, signal: aborter.signal });
      return;
    }
    isRunning = true;
    await attempt(aborter.signal);
    isRunning = false;
    if (!aborter.signal.aborted) schedule();
  }

  schedule();
  return {
    isRunning: () => isRunning,
    stop() {
      clearTimeout(timer);
      aborter.abort();
    },
  };
}
