// Servers that keep limits as they are kept in the field, written for this bench and apart from our own: one process, one
// limit for each run. /<kind>/<run> is limited; /counts/<run> tells what came in. Prints its port to its parent.
import { createServer } from 'node:http'

/** Twenty a second on the average, however it is kept. `ideal`: seconds that so many calls take at least. */
export const kinds = {
  bucket: { make: bucket, state: draft11, ideal: (calls) => (calls - 20) / 20 },
  'bucket, with our hints': { make: bucket, state: hinted, ideal: (calls) => (calls - 20) / 20 },
  'fixed window': { make: fixed, state: draft11, ideal: windows },
  'sliding window': { make: log, state: draft11, ideal: windows },
  leaky: { make: leaky, state: draft11, ideal: (calls) => (calls - 1) / 20 },
  'bucket, Retry-After only': { make: bucket, state: () => ({}), ideal: (calls) => (calls - 20) / 20 },
  'fixed window, old headers only': { make: fixed, state: draft6, ideal: windows },
}

function windows(calls) {
  return (Math.ceil(calls / 40) - 1) * 2
}

/** Each limit: a function of the time in ms that decides, with what is left and the ms until more. */
function bucket() {
  let [units, atMs] = [20, 0]
  return (nowMs) => {
    units = Math.min(20, units + (nowMs - atMs) / 50)
    atMs = nowMs
    const admitted = units >= 1
    if (admitted) units -= 1
    const left = Math.floor(units)
    return { admitted, left, untilMs: left > 0 ? left * 50 : (1 - units) * 50, q: 20, w: 1 }
  }
}

/** From the first request on, as most middleware has it. */
function fixed() {
  let [used, startMs] = [0, Number.NEGATIVE_INFINITY]
  return (nowMs) => {
    if (nowMs >= startMs + 2000) [used, startMs] = [0, nowMs]
    const admitted = used < 40
    if (admitted) used += 1
    return { admitted, left: 40 - used, untilMs: startMs + 2000 - nowMs, q: 40, w: 2 }
  }
}

function log() {
  let times = []
  return (nowMs) => {
    times = times.filter((atMs) => atMs > nowMs - 2000)
    const admitted = times.length < 40
    if (admitted) times.push(nowMs)
    return { admitted, left: 40 - times.length, untilMs: times[0] + 2000 - nowMs, q: 40, w: 2 }
  }
}

/** Lets answers out one after the other; twenty may wait. */
function leaky() {
  let freeMs = 0
  return (nowMs) => {
    freeMs = Math.max(freeMs, nowMs)
    const aheadMs = freeMs - nowMs
    const admitted = aheadMs <= 19 * 50
    if (admitted) freeMs += 50
    const left = Math.max(0, Math.floor(20 - (freeMs - nowMs) / 50))
    const untilMs = left > 0 ? left * 50 : Math.max(1, freeMs - nowMs - 19 * 50)
    return { admitted, left, untilMs, q: 20, w: 1, heldMs: admitted ? aheadMs : 0 }
  }
}

function draft11({ left, untilMs, q, w }) {
  return {
    'RateLimit-Policy': `"api";q=${q};w=${w}`,
    RateLimit: `"api";r=${left};t=${Math.ceil(untilMs / 1000)}`,
  }
}

function hinted({ admitted, left, untilMs, q, w }) {
  const ms = Math.ceil(untilMs)
  return {
    'RateLimit-Policy': `"api";q=${q};w=${w};ratepact-refill="bucket"`,
    RateLimit: `"api";r=${left};t=${Math.ceil(ms / 1000)};ratepact-t-ms=${ms}`,
    ...(admitted ? {} : { 'retry-after-ms': String(ms) }),
  }
}

function draft6({ left, untilMs, q, w }) {
  return {
    'RateLimit-Limit': String(q),
    'RateLimit-Remaining': String(left),
    'RateLimit-Reset': String(Math.ceil(untilMs / 1000)),
    'RateLimit-Policy': `${q};w=${w}`,
  }
}

const runs = new Map()

function answer(req, res) {
  const [, kind, run] = decodeURIComponent(req.url).split('/')
  if (kind === 'counts') return res.end(JSON.stringify(runs.get(run)?.counts ?? {}))
  if (!runs.has(run)) runs.set(run, { decide: kinds[kind].make(), counts: { sends: 0, refused: 0 } })
  const { decide, counts } = runs.get(run)
  const verdict = decide(performance.now())
  counts.sends += 1
  if (!verdict.admitted) counts.refused += 1
  const fields = kinds[kind].state(verdict)
  if (verdict.admitted) {
    res.writeHead(200, fields)
    // As far away as the next data centre.
    setTimeout(() => res.end('ok'), 15 + (verdict.heldMs ?? 0))
  } else {
    res.writeHead(429, { 'Retry-After': Math.ceil(verdict.untilMs / 1000), ...fields })
    setTimeout(() => res.end('too many'), 15)
  }
}

if (process.send !== undefined) {
  const server = createServer(answer)
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  process.on('disconnect', () => process.exit())
}
