import { buildPathsUnder } from '../../src/adapters/builds/agent/buildPaths.ts'
import { runPart } from '../../src/adapters/builds/agent/part.ts'

export type Asked = { readonly name: string; readonly root: string }
/** Its log and exit status; undefined if it crashed, which the log then shows. */
export type PartPlayed = { readonly log: string; readonly status: number | undefined }

/** Runs build steps one after the other in a separate process with limits: one process for each would take longer. */
async function play({ name, root }: Asked): Promise<PartPlayed> {
  const written: string[] = []
  const write = process.stdout.write
  process.stdout.write = ((chunk: string | Uint8Array) => {
    written.push(Buffer.from(chunk).toString())
    return true
  }) as typeof write
  try {
    return { status: await runPart(name, buildPathsUnder(root)), log: written.join('') }
  } catch (error) {
    return { status: undefined, log: `${written.join('')}${(error as Error).stack}` }
  } finally {
    process.stdout.write = write
  }
}

process.on('message', async (asked: Asked) => process.send?.(await play(asked)))
process.once('disconnect', () => process.exit())
