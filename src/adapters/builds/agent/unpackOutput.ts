import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { ArchiveRefusedError } from '../../../contracts/builds/archive.ts'
import { BuildRefusal } from '../../../contracts/builds/files.ts'
import { unpack } from '../unpack.ts'

/**
 * Unpacks the archive that a program writes to its stdout.
 *
 * @throws BuildRefusal SourceRefused for an archive that is refused; BuilderFailed if the program failed
 */
export async function unpackOutput(child: ChildProcess & { stdout: Readable }, into: string): Promise<void> {
  const ended: Promise<[number | null]> = once(child, 'close') as never
  let refusal: unknown
  try {
    await unpack(child.stdout, into)
  } catch (error) {
    refusal = error
  }
  // A program that is still writing would block on the pipe; one that has ended tells by its status if it succeeded.
  if (!child.stdout.readableEnded) child.kill()
  else if ((await ended)[0] !== 0)
    throw new BuildRefusal('BuilderFailed', 'The uploaded source could not be read from the registry to its end.')
  if (refusal instanceof ArchiveRefusedError)
    throw new BuildRefusal('SourceRefused', `The archive is refused. ${refusal.message}`)
  if (refusal !== undefined) throw refusal
}
