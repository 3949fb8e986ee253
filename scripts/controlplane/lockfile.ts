import { createHash, randomUUID } from 'node:crypto'
import { link, rm } from 'node:fs/promises'
import { readIfThere, writePrivate } from './files.ts'
import { identityOf } from './identity.ts'

/** A process that holds a lock file. */
export type Holder = { pid: number; identity: string }

/** The living holder of a lock file; dead processes do not count. */
export async function holderOf(path: string): Promise<Holder | undefined> {
  const holder = parseHolder(await readIfThere(path))
  return isRunning(holder) ? holder : undefined
}

const isRunning = (holder: Holder | undefined) => holder !== undefined && identityOf(holder.pid) === holder.identity

/**
 * Takes a lock file for this process. The file appears whole (a link), so nobody ever reads half a holder.
 *
 * @returns a function that releases it, or undefined if a living process holds it
 */
export async function tryLock(path: string): Promise<(() => Promise<void>) | undefined> {
  const ownPath = `${path}.${randomUUID()}`
  await writePrivate(ownPath, JSON.stringify({ pid: process.pid, identity: identityOf(process.pid) }))
  try {
    if (!(await tryLink(ownPath, path))) {
      const content = (await readIfThere(path)) ?? ''
      if (isRunning(parseHolder(content))) return undefined
      await removeStale(path, content)
      if (!(await tryLink(ownPath, path))) return undefined
    }
    return () => rm(path, { force: true })
  } finally {
    await rm(ownPath, { force: true })
  }
}

/**
 * Removes the file of a dead holder. Only the holder of the lock on this very content may do so: otherwise a slower
 * process that also saw the dead holder would remove the file of the faster one.
 */
async function removeStale(path: string, content: string): Promise<void> {
  const release = await tryLock(`${path}.${createHash('sha256').update(content).digest('hex').slice(0, 16)}`)
  if (release === undefined) return
  if ((await readIfThere(path)) === content) await rm(path, { force: true })
  await release()
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function parseHolder(text: string | undefined): Holder | undefined {
  try {
    const value = JSON.parse(text ?? 'null')
    return typeof value?.pid === 'number' && typeof value.identity === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
