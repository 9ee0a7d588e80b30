// A server in a process of its own, so that its work is not counted as the client's. Answers a few bytes, with the fields
// that the path asks for. Prints its port.
import { createServer } from 'node:http'

const fields = {
  '/none': {},
  '/bucket': {
    'RateLimit-Policy': '"bench";q=1000000000;w=1;ratepact-refill="bucket"',
    RateLimit: '"bench";r=999999999;t=1;ratepact-t-ms=1',
  },
  '/two': {
    'RateLimit-Policy': '"burst";q=1000000000;w=1, "daily";q=1000000000;w=86400',
    RateLimit: '"burst";r=999999999;t=1, "daily";r=999999999;t=86400',
  },
}

const server = createServer((req, res) => {
  res.writeHead(200, { 'Content-Type': 'application/json', ...fields[req.url] })
  res.end('{"ok":true}')
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.on('disconnect', () => process.exit())
