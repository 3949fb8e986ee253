import { BACKLOG, createReceiver } from './accessReceiver.ts'

/** The program that receives the store's reports; `start.ts` starts it with these variables. */
const { RECEIVER_PORT, RECEIVER_FOLDER = '', RECEIVER_OBJECTS = '' } = process.env
const { RECEIVER_AUTHORIZATION = '', RECEIVER_PLATFORM = '' } = process.env

const lost = new Map<string, number>()
const server = createReceiver({
  folder: RECEIVER_FOLDER,
  objects: RECEIVER_OBJECTS,
  authorization: RECEIVER_AUTHORIZATION,
  platform: RECEIVER_PLATFORM,
  onLost: (why) => lost.set(why, (lost.get(why) ?? 0) + 1),
})
server.listen({ host: '127.0.0.1', port: Number(RECEIVER_PORT), backlog: BACKLOG })

// As counts: a log line for each would fill the disk.
setInterval(() => {
  for (const [why, times] of lost) console.error(`${new Date().toISOString()} ${times} entries lost: ${why}`)
  lost.clear()
}, 60_000).unref()

process.once('SIGTERM', () => {
  server.close(() => process.exit(0))
  server.closeIdleConnections()
})
