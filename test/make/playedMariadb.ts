import type { Socket } from 'node:net'

const number = (value: number, bytes: number) => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntLE(value, 0, bytes)
  return buffer
}
export const mariadbPacket = (sequence: number, body: Buffer) =>
  Buffer.concat([number(body.length, 3), Buffer.from([sequence % 256]), body])
const OK = Buffer.from([0, 0, 0, 2, 0, 0, 0])
/** Version, thread, scramble, capabilities (no TLS), character set, and how to sign in. */
export const MARIADB_GREETING = mariadbPacket(
  0,
  Buffer.concat([
    Buffer.from('\u000a5.5.5-11.8.2-MariaDB\0'),
    number(7, 4),
    Buffer.from('12345678\0'),
    number(0xf7fe, 2),
    Buffer.from([45]),
    number(2, 2),
    number(0x81bf, 2),
    Buffer.from([21]),
    Buffer.alloc(10),
    Buffer.from('abcdefghijkl\0mysql_native_password\0'),
  ]),
)

/** What a session receives that signs in, and may do anything. */
export const mariadbTranscript = () =>
  Buffer.concat([MARIADB_GREETING, ...[2, 1, 1, 1, 1].map((sequence) => mariadbPacket(sequence, OK))])

/**
 * Speaks the part of MariaDB's protocol that a session needs: admits everybody, and answers OK to everything.
 *
 * @param told may answer a command itself and then returns true
 */
export async function playMariadb(socket: Socket, told: (sequence: number, text: string) => boolean): Promise<void> {
  socket.write(MARIADB_GREETING)
  let held = Buffer.alloc(0)
  for await (const chunk of socket) {
    held = Buffer.concat([held, chunk as Buffer])
    while (held.length >= 4 && held.length >= 4 + held.readUIntLE(0, 3)) {
      const body = held.subarray(4, 4 + held.readUIntLE(0, 3))
      const sequence = held.readUInt8(3) + 1
      held = held.subarray(4 + body.length)
      if (!told(sequence, body.toString('latin1', 1))) socket.write(mariadbPacket(sequence, OK))
    }
  }
}
