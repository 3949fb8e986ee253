import { createHash, type Hash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { parentPort } from 'node:worker_threads'
import { ArchiveRefusedError } from '../../../contracts/builds/archive.ts'
import { lowerThreadPriority } from '../../workers/threadPriority.ts'
import { unpack } from '../unpack.ts'
import type { FromThread, ToThread } from './messages.ts'

/** The archives being read. They are processed in slices, in turns. */
const archives = new Map<number, { input: PassThrough; hash: Hash }>()
const postToParent = (message: FromThread) => parentPort?.postMessage(message)

async function outcomeOf(id: number, { input, hash }: { input: PassThrough; hash: Hash }): Promise<FromThread> {
  try {
    const { files } = await unpack(input, undefined)
    return { id, read: { digest: `sha256:${hash.digest('hex')}`, files } }
  } catch (error) {
    if (error instanceof ArchiveRefusedError) return { id, refused: error.message }
    return { id, failed: (error as Error).message }
  }
}

async function begin(id: number): Promise<void> {
  const archive = { input: new PassThrough(), hash: createHash('sha256') }
  archives.set(id, archive)
  const outcome = await outcomeOf(id, archive)
  archives.delete(id)
  postToParent(outcome)
}

lowerThreadPriority()
parentPort?.on('message', (message: ToThread) => {
  const { id } = message
  if ('now' in message && message.now === 'begin') return void begin(id)
  const archive = archives.get(id)
  // Refused already: pieces that are still in flight are dropped.
  if (archive === undefined) return
  if ('piece' in message) {
    const { piece } = message
    archive.hash.update(piece)
    archive.input.write(piece, () => postToParent({ id, taken: piece.length }))
  } else if (message.now === 'end') archive.input.end()
  else archive.input.destroy(new Error('Nobody waits for it any more.'))
})
