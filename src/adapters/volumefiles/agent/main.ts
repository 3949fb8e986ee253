import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from './serve.ts'

/** Milliseconds without requests after which the pod ends. */
const IDLE_TIMEOUT_MS = 60_000
const CHECK_INTERVAL_MS = 5_000
/** Milliseconds to wait until the client has received the last bytes. */
const DRAIN_TIMEOUT_MS = 600_000

/**
 * Runs in a pod beside the volumes of a resource. `serve` answers one request, on standard input and output; `wait` keeps
 * the pod for as long as requests come.
 */
async function main(argument: string | undefined): Promise<void> {
  if (argument === 'serve') {
    await serve(process.stdin, process.stdout)
    // Output may be lost if the process exits too early: the client closes stdin once everything has arrived.
    process.stdin.resume()
    if (!process.stdin.readableEnded) await Promise.race([once(process.stdin, 'close'), sleep(DRAIN_TIMEOUT_MS)])
    process.exit(0)
  }
  if (argument !== 'wait') throw new Error('Usage: main.ts serve | wait')
  process.on('SIGTERM', () => process.exit(0))
  for (let idleSince = Date.now(); Date.now() - idleSince < IDLE_TIMEOUT_MS; await sleep(CHECK_INTERVAL_MS)) {
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    if (processes.length > 1) idleSince = Date.now()
  }
}

await main(process.argv[2])
