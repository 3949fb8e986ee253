import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { localFailure } from './failure.ts'

const RETRY_INTERVAL_MS = 25

/**
 * Runs `work` under a lock between processes. The lock is SQLite's on an empty database: the operating system releases
 * it when its holder dies, so there are no stale lock files.
 *
 * @throws CommandFailure (local) if another process holds it beyond the deadline, or the file cannot be written
 */
export async function withLock<Result>(
  path: string,
  deadlineMilliseconds: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(path)
  try {
    database.exec('PRAGMA busy_timeout = 0')
    const until = performance.now() + deadlineMilliseconds
    while (!tryBegin(database)) {
      if (performance.now() > until) throw localFailure(`Another process has held ${path} for too long: try again.`)
      await delay(RETRY_INTERVAL_MS)
    }
    return await work()
  } finally {
    database.close()
  }
}

async function openDatabase(path: string): Promise<DatabaseSync> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return new DatabaseSync(path)
  } catch (error) {
    throw localFailure(`${path} cannot be written.`, error)
  }
}

function tryBegin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    // SQLITE_BUSY
    if ((error as { errcode?: number }).errcode === 5) return false
    throw error
  }
}
