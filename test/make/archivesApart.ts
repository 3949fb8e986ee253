import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { parentPort } from 'node:worker_threads'
import { unpack } from '../../src/adapters/builds/unpack.ts'
import { ArchiveRefusedError } from '../../src/contracts/builds/archive.ts'
import { HOSTILE_ARCHIVES } from '../cases/hostileSources/archives.ts'

export type Played = {
  readonly outcome: 'refused' | 'taken' | 'broken'
  readonly message: string
  readonly read: number
}

/** Unpacks hostile archives in a separate thread, which ends if one takes too much memory. */
async function play({ at, below }: { at: number; below: string }): Promise<Played> {
  let read = 0
  const source = function* () {
    const bytes = HOSTILE_ARCHIVES[at]?.bytes() ?? []
    for (const chunk of Buffer.isBuffer(bytes) ? [bytes] : bytes) {
      read += chunk.length
      yield chunk
    }
  }
  const into = join(below, 'source')
  await mkdir(into)
  const { isOnlyJudged = false } = HOSTILE_ARCHIVES[at] ?? {}
  try {
    const { files } = await unpack(Readable.from(source()), isOnlyJudged ? undefined : into)
    return { outcome: 'taken', message: `${files} files`, read }
  } catch (error) {
    return {
      outcome: error instanceof ArchiveRefusedError ? 'refused' : 'broken',
      message: (error as Error).message,
      read,
    }
  }
}

parentPort?.on('message', async (asked) => parentPort?.postMessage(await play(asked)))
