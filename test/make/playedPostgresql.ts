import { once } from 'node:events'
import type { Socket } from 'node:net'

const number = (value: number, bytes: 2 | 4) => {
  const buffer = Buffer.alloc(bytes)
  if (bytes === 2) buffer.writeInt16BE(value)
  else buffer.writeInt32BE(value)
  return buffer
}
const message = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), number(body.length + 4, 4), body])
}
/** What a session receives that signs in, asks for one row and gets it. */
export const postgresqlTranscript = () =>
  Buffer.concat([
    message('R', number(0, 4)),
    READY,
    message('1'),
    message('2'),
    message('T', number(1, 2), ...FIELD),
    message('D', number(1, 2), number(3, 4), Buffer.from('row')),
    message('C', Buffer.from('SELECT 1\0')),
    READY,
  ])
const READY = message('Z', Buffer.from('I'))
const FIELD = [
  Buffer.from('body\0'),
  number(0, 4),
  number(1, 2),
  number(25, 4),
  number(-1, 2),
  number(-1, 4),
  number(0, 2),
]

/** The messages of a client, as they come: the first has no type. */
async function* messagesOf(socket: Socket): AsyncIterable<{ type: string; body: Buffer }> {
  let held = Buffer.alloc(0)
  let at = 0
  for await (const chunk of socket) {
    held = Buffer.concat([held, chunk as Buffer])
    for (let end = lengthOf(held, at); end <= held.length; end = lengthOf(held, at)) {
      yield { type: held.toString('latin1', 0, at), body: held.subarray(at + 4, end) }
      held = held.subarray(end)
      at = 1
    }
  }
}

const lengthOf = (held: Buffer, at: number) =>
  held.length < at + 4 ? Number.POSITIVE_INFINITY : held.readInt32BE(at) + at

/**
 * Speaks as much of PostgreSQL's protocol (version 3.0) as a session needs. Selects give `rows` rows of `bytes` bytes.
 *
 * @param sent receives the statements
 */
export async function playPostgresql(
  socket: Socket,
  { rows, bytes }: { rows: number; bytes: number },
  sent: string[],
): Promise<void> {
  let text = ''
  const give = async () => {
    const row = message('D', number(1, 2), number(bytes, 4), Buffer.alloc(bytes, 'x'))
    for (let index = 0; index < rows; index += 1) if (!socket.write(row)) await once(socket, 'drain')
    socket.write(message('C', Buffer.from(`SELECT ${rows}\0`)))
  }
  const isSelect = () => /select/i.test(text)
  const answers: Record<string, () => unknown> = {
    '': () => socket.write(Buffer.concat([message('R', number(0, 4)), READY])),
    P: () => socket.write(message('1')),
    B: () => socket.write(message('2')),
    D: () => socket.write(isSelect() ? message('T', number(1, 2), ...FIELD) : message('n')),
    E: () => (isSelect() ? give() : socket.write(message('C', Buffer.from('BEGIN\0')))),
    S: () => socket.write(READY),
  }
  for await (const { type, body } of messagesOf(socket)) {
    if (type === 'P') {
      text = body.toString('latin1').split('\0')[1] ?? ''
      sent.push(text)
    }
    await answers[type]?.()
  }
}
