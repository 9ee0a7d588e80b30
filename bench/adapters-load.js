// Sends requests on 64 connections, each as soon as the one before is answered. As little work as can be, since it runs
// beside what is measured. Told `{ port, requests }`, it sends how many were answered a second, and waits for more.
import { connect } from 'node:net'

const CONNECTIONS = 64
const ANSWER = '{"ok":true}'
let asked = 0

function request() {
  asked += 1
  return `GET / HTTP/1.1\r\nHost: bench\r\nX-Key: key-${(asked * 7919) % 10_000}\r\n\r\n`
}

function load({ port, requests }) {
  let sent = 0
  let answered = 0
  let started = 0
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const next = () => {
      if (sent >= requests) return
      sent += 1
      socket.write(request())
    }
    socket.setEncoding('latin1')
    socket.setNoDelay(true)
    socket.on('connect', next)
    socket.on('data', (chunk) => {
      text = text === '' ? chunk : text + chunk
      if (!text.endsWith(ANSWER)) return
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
      text = ''
      answered += 1
      if (answered === 1) started = performance.now()
      if (answered < requests) return next()
      process.send(((requests - 1) * 1000) / (performance.now() - started))
      for (const each of sockets) each.destroy()
    })
    return socket
  })
}

process.on('message', load)
process.on('disconnect', () => process.exit())
