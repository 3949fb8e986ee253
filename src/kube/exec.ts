import { Readable } from 'node:stream'
import type { WebSocket } from 'ws'
import { tryParseJsonObject } from '../core/tryParseJson.ts'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { queryString } from './path.ts'
import { limitUnreadMessages, openPodSocket, waitUntilOpen } from './podSocket.ts'

export type ExecRequest = {
  namespace: string
  pod: string
  container: string
  command: readonly string[]
  /** Aborting ends the connection; the command sees the end of its standard input. */
  signal: AbortSignal
}

/** A running command in a container. */
export type ExecSession = {
  /** Standard output with backpressure. Fails unless the command exits with status 0. */
  stdout: Readable
  /** Writes to standard input. Resolves when more may be sent. @throws Error if the connection has ended */
  write(bytes: Uint8Array): Promise<void>
  /** Closes standard input. */
  end(): void
}

export type Exec = (request: ExecRequest) => Promise<ExecSession>

/** The API server refused to run a command. */
export class ExecRefusedError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`The API server answered ${status} to the request to run a command.`)
    this.status = status
  }
}

/** @see https://kubernetes.io/docs/reference/using-api/api-concepts/ and KEP-4006 */
const PROTOCOL = 'v5.channel.k8s.io'
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 }
/** Bytes that may be buffered for sending. */
const MAX_BUFFERED_BYTES = 1024 * 1024

/** Runs commands in containers through the API server, over one WebSocket each. */
export function createExec(access: ClusterAccess, userAgent: string): Exec {
  return async ({ namespace, pod, container, command, signal }) => {
    signal.throwIfAborted()
    const commandQuery = command.map((word) => `&command=${encodeURIComponent(word)}`).join('')
    const query = `${queryString({ container, stdin: true, stdout: true, stderr: true })}${commandQuery}`
    const request = { namespace, pod, subresource: 'exec', query, protocol: PROTOCOL } as const
    const socket = await openPodSocket(access, userAgent, request)
    const abort = () => socket.terminate()
    signal.addEventListener('abort', abort, { once: true })
    // The signal may have aborted while a credential plugin ran.
    if (signal.aborted) abort()
    socket.once('close', () => signal.removeEventListener('abort', abort))
    // Before the handshake completes, because the first bytes may come with its answer.
    const session = sessionOf(socket)
    await waitUntilOpen(socket, access, (status) => new ExecRefusedError(status))
    return session
  }
}

function sessionOf(socket: WebSocket): ExecSession {
  const stdout = new Readable({
    read: () => socket.resume(),
    destroy: (error, done) => {
      socket.terminate()
      done(error)
    },
  })
  // Without a listener, an error after the reader has left would end the process.
  stdout.on('error', () => {})
  let failure: Error | undefined = new Error('The connection to the container was lost.')
  let errorOutput = ''
  const unread = limitUnreadMessages((error) => stdout.destroy(error))
  socket.on('message', (message: Buffer) => {
    const bytes = message.subarray(1)
    if (message[0] !== CHANNEL.stdout || bytes.length === 0) unread(message)
    else if (!stdout.push(bytes)) socket.pause()
    if (message[0] === CHANNEL.stderr) errorOutput = (errorOutput + bytes.toString()).slice(-MAX_STATUS_CHARACTERS)
    if (message[0] === CHANNEL.status) failure = failureOf(bytes, errorOutput)
  })
  socket.once('close', () => {
    if (failure === undefined) stdout.push(null)
    else stdout.destroy(failure)
  })
  return {
    stdout,
    write: (bytes) => sendOn(socket, CHANNEL.stdin, bytes),
    end: () => socket.send(Buffer.from([CHANNEL.close, CHANNEL.stdin]), () => {}),
  }
}

/** Characters kept of what a cluster says, which may not be trusted. */
const MAX_STATUS_CHARACTERS = 2_000

/** @returns why the command failed; undefined if it did not */
function failureOf(bytes: Buffer, errorOutput: string): Error | undefined {
  // `tryParseJsonObject` does not throw: an exception in an event listener would end the process.
  const { status, message } = tryParseJsonObject(bytes.toString()) ?? {}
  if (status === 'Success') return undefined
  const detail = typeof message === 'string' ? message.slice(0, MAX_STATUS_CHARACTERS) : ''
  return new Error(`The command in the container failed: ${detail} ${errorOutput}`.trim())
}

function sendOn(socket: WebSocket, channel: number, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const isAhead = socket.bufferedAmount > MAX_BUFFERED_BYTES
    socket.send(Buffer.concat([Buffer.from([channel]), bytes]), (error) => {
      if (error instanceof Error) reject(error)
      else resolve()
    })
    if (!isAhead && socket.readyState === socket.OPEN) resolve()
  })
}
