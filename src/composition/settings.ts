import { existsSync, readdirSync, readFileSync, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { sha256 } from '../core/names.ts'
import type { KubeClient } from '../kube/client.ts'
import { LeaseTurns } from '../kube/leaseTurns.ts'
import type { Part } from './part.ts'

/** A kubelet replaces the whole of a mounted ConfigMap by turning this link. */
const MOUNTED = '..data'
/** Milliseconds until another facade may follow: as long as one takes to stop, to start and to be ready. */
const BETWEEN_RESTARTS = 45_000
const PAUSE = 5_000

type Followed = {
  /** Path of the file with the settings; undefined without one. */
  file: string | undefined
  /** What the process is configured by, read again. Throws for what cannot be used. */
  read: () => object
  log: Log
  /** Where replicas must not be gone at once: returns when this one may go. */
  turn?: (() => Promise<void>) | undefined
  /** Ends the process; its pod starts it again. */
  restart: () => void
}

/**
 * Starts the process again when the ConfigMap that holds its settings has changed, as whoever applies one expects. Nothing
 * is read before the kubelet tells; outside of pods nothing is watched, because nobody would start the process again.
 */
export function followSettings({ file, read, log, turn, restart }: Followed): Part {
  const name = 'settings'
  const folder = file === undefined ? undefined : dirname(file)
  if (file === undefined || folder === undefined || !existsSync(join(folder, MOUNTED)))
    return { name, checks: [], stop: () => Promise.resolve() }
  const begun = sumOf(file, read)
  let refused: string | undefined
  const isAnother = () => {
    const now = sumOr(file, read, (why) => {
      if (why !== refused) log.error({ why }, 'The changed settings cannot be used: the previous ones stay in use.')
      refused = why
    })
    return now !== undefined && now !== begun
  }
  let isGoing = false
  const look = async () => {
    if (isGoing || !isAnother()) return
    isGoing = true
    log.info({}, 'The settings have changed: the process restarts with them.')
    await turn?.()
    // They may have changed once more, and could end the next start.
    isGoing = isAnother()
    if (isGoing) restart()
  }
  const watcher = watch(folder, (_event, changed) => {
    if (changed === null || changed === MOUNTED) void look()
  })
  // Without it the process works on; only a later change of the settings goes unnoticed.
  watcher.on('error', (error) => log.warn({ error: messageOf(error) }, 'The settings are no longer watched.'))
  return { name, checks: [], stop: () => Promise.resolve(watcher.close()) }
}

function sumOr(file: string, read: () => object, refuse: (why: string) => void): string | undefined {
  try {
    return sumOf(file, read)
  } catch (error) {
    refuse(messageOf(error))
    return undefined
  }
}

/** Of the settings as they are understood, without comments, and of the files beside them that they may name. */
function sumOf(file: string, read: () => object): string {
  const folder = dirname(file)
  const beside = readdirSync(folder).filter((each) => !each.startsWith('..') && each !== basename(file))
  const contents = beside.sort().map((each) => [each, readFileSync(join(folder, each), 'utf8')])
  return sha256(JSON.stringify([read(), contents]))
}

/**
 * One replica after the other, and none while the API server is away: a process that starts then could not answer what
 * this one still can. The turn is not given back, so that it ends when the next process of this one is ready.
 */
export function turnAmongReplicas(client: KubeClient, log: Log): () => Promise<void> {
  const timings = { duration: BETWEEN_RESTARTS, patience: Number.POSITIVE_INFINITY, pause: { least: 1000, most: 3000 } }
  const turns = new LeaseTurns(client, timings)
  const taken = () =>
    new Promise<void>((done, fail) => {
      const held = () => {
        done()
        return new Promise<never>(() => undefined)
      }
      turns.take('settings', held).catch(fail)
    })
  return async () => {
    for (;;) {
      try {
        await taken()
        return
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'The restart waits for the API server.')
        await delay(PAUSE)
      }
    }
  }
}
