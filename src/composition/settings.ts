import { existsSync, readdirSync, readFileSync, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { sha256 } from '../core/names.ts'
import type { KubeClient } from '../kube/client.ts'
import { KeyedLeaseMutex } from '../kube/keyedLeaseMutex.ts'
import type { Part } from './part.ts'

/** The kubelet updates a mounted ConfigMap by replacing this symlink. */
const MOUNT_SYMLINK = '..data'
/** Milliseconds between restarts of facades: the time to stop, start and become ready. */
const RESTART_GAP_MS = 45_000
const PAUSE_MS = 5_000

type SettingsSource = {
  /** Path of the settings file, if there is one. */
  file: string | undefined
  /** Reads the configuration again; throws if it is invalid. */
  read: () => object
  log: Log
  /** Resolves when this replica may restart, so that not all do at once. */
  waitForTurn?: (() => Promise<void>) | undefined
  /** Ends the process, which its pod restarts. */
  restart: () => void
}

/**
 * Restarts the process when its mounted ConfigMap changes. Files are read only when the kubelet has updated them.
 * Outside of pods nothing is watched, because nothing would restart the process.
 */
export function followSettings({ file, read, log, waitForTurn, restart }: SettingsSource): Part {
  const name = 'settings'
  const folder = file === undefined ? undefined : dirname(file)
  if (file === undefined || folder === undefined || !existsSync(join(folder, MOUNT_SYMLINK)))
    return { name, checks: [], stop: () => Promise.resolve() }
  const initialChecksum = checksumOf(file, read)
  let refused: string | undefined
  const isAnother = () => {
    const now = tryChecksum(file, read, (why) => {
      if (why !== refused) log.error({ why }, 'The changed settings cannot be used: the previous ones stay in use.')
      refused = why
    })
    return now !== undefined && now !== initialChecksum
  }
  let isGoing = false
  const restartIfChanged = async () => {
    if (isGoing || !isAnother()) return
    isGoing = true
    log.info({}, 'The settings have changed: the process restarts with them.')
    await waitForTurn?.()
    // They may have changed again meanwhile, or have become invalid.
    isGoing = isAnother()
    if (isGoing) restart()
  }
  const watcher = watch(folder, (_event, changed) => {
    if (changed === null || changed === MOUNT_SYMLINK) void restartIfChanged()
  })
  // The process keeps running; only later changes are missed.
  watcher.on('error', (error) => log.warn({ error: messageOf(error) }, 'The settings are no longer watched.'))
  return { name, checks: [], stop: () => Promise.resolve(watcher.close()) }
}

function tryChecksum(file: string, read: () => object, refuse: (why: string) => void): string | undefined {
  try {
    return checksumOf(file, read)
  } catch (error) {
    refuse(messageOf(error))
    return undefined
  }
}

/** Hashes the parsed settings, which ignores comments, and the files beside them, which they may name. */
function checksumOf(file: string, read: () => object): string {
  const folder = dirname(file)
  const siblings = readdirSync(folder).filter((each) => !each.startsWith('..') && each !== basename(file))
  const contents = siblings.sort().map((each) => [each, readFileSync(join(folder, each), 'utf8')])
  return sha256(JSON.stringify([read(), contents]))
}

/**
 * Lets one replica restart at a time, and none while the API server is unreachable, since a restarted process could not
 * serve then. The turn is not released but expires, when the restarted process should be ready.
 */
export function turnAmongReplicas(client: KubeClient, log: Log): () => Promise<void> {
  const timings = { duration: RESTART_GAP_MS, timeout: Number.POSITIVE_INFINITY, pause: { min: 1000, max: 3000 } }
  const lock = new KeyedLeaseMutex(client, timings)
  const takeTurn = () =>
    new Promise<void>((done, fail) => {
      const held = () => {
        done()
        return new Promise<never>(() => undefined)
      }
      lock.take('settings', held).catch(fail)
    })
  return async () => {
    for (;;) {
      try {
        await takeTurn()
        return
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'The restart waits for the API server.')
        await delay(PAUSE_MS)
      }
    }
  }
}
