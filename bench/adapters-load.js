// Sends requests to a port on 64 connections, each as soon as the one before is answered: node adapters-load.js <port>
// <requests>. As little work as can be, since it runs beside what is measured. Sends how many were answered a second.
import { connect } from 'node:net'

const [port, requests] = process.argv.slice(2).map(Number)
const CONNECTIONS = 64
let sent = 0
let answered = 0
let started = 0

function next(socket) {
  if (sent >= requests) return
  sent += 1
  const key = (sent * 7919) % 10_000
  socket.write(`GET / HTTP/1.1\r\nHost: bench\r\nX-Key: key-${key}\r\n\r\n`)
}

for (let i = 0; i < CONNECTIONS; i += 1) {
  const socket = connect(port, '127.0.0.1')
  socket.setEncoding('latin1')
  let text = ''
  socket.on('connect', () => next(socket))
  socket.on('data', (chunk) => {
    text += chunk
    if (!text.endsWith('{"ok":true}')) return
    if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
    text = ''
    answered += 1
    if (answered === 1) started = performance.now()
    if (answered === requests) {
      process.send(((requests - 1) * 1000) / (performance.now() - started))
      process.exit()
    }
    next(socket)
  })
}
