import { spawn } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { tailOf } from '../controlplane/processes.ts'
import type { DevFile } from './state.ts'

/** Messages from the background process to its parent. */
export type DetachMessage = { line: string } | Readiness

/** `isPersonNew`: this run created the first person's password, and nobody has seen it. */
export type Readiness = { ready: DevFile; isPersonNew: boolean }

/** The background process clears its log only once it is the only one: the log of another must stay. */
export function beginLog(): void {
  if (process.connected && fstatSync(process.stderr.fd).isFile()) ftruncateSync(process.stderr.fd)
}

/**
 * Starts `up` in the background and waits until it is ready; then the parent exits.
 *
 * @param script path of up.ts
 * @throws Error with the end of its log when it ends before
 */
export async function startDetached(
  script: string,
  words: readonly string[],
  folder: string,
  print: (line: string) => void,
): Promise<Readiness> {
  const logs = join(folder, 'logs')
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  // Beside the folder of logs, which --fresh removes: the log of the process that does so must stay.
  const logFile = join(folder, 'up.log')
  const log = openSync(logFile, 'a', 0o600)
  const child = spawn(process.execPath, [script, ...words, '--supervise'], {
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  })
  closeSync(log)
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
    child.kill('SIGTERM')
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  try {
    return await new Promise<Readiness>((done, failed) => {
      child.on('error', failed)
      child.on('message', (message: DetachMessage) => {
        if ('line' in message) print(message.line)
        else done(message)
      })
      child.on('exit', (code, signal) => {
        const how = `The platform did not start (${signal ?? `code ${code}`}). The end of ${logFile}:`
        failed(new Error(isInterrupted ? 'Interrupted: nothing runs.' : `${how}\n${tailOf(logFile)}`))
      })
    })
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeListener(signal, interrupt)
    child.removeAllListeners()
    if (child.connected) child.disconnect()
    child.unref()
  }
}
