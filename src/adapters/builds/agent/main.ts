import { writeFileSync } from 'node:fs'
import { BuildRefusal } from '../../../contracts/builds/files.ts'
import type { BuildWord } from '../../../contracts/builds/pod.ts'
import type { BuildContainer } from '../../../contracts/builds/progress.ts'
import { buildImage } from './build.ts'
import { pushImage } from './push.ts'
import { fetchSource } from './source.ts'

const PARTS: Readonly<Record<BuildContainer, () => Promise<BuildWord>>> = {
  source: fetchSource,
  build: buildImage,
  push: pushImage,
}

/** Where the kubelet reads what a container says at its end. */
const LAST_WORD = '/dev/termination-log'

/** Runs one part of a build, in a container of its own. */
async function main(name: string | undefined): Promise<void> {
  process.on('SIGTERM', () => process.exit(143))
  const part = Object.entries(PARTS).find(([known]) => known === name)?.[1]
  if (part === undefined) throw new Error(`Usage: main.ts ${Object.keys(PARTS).join(' | ')}`)
  try {
    writeFileSync(LAST_WORD, JSON.stringify(await part()))
    process.exit(0)
  } catch (error) {
    if (!(error instanceof BuildRefusal)) throw error
    console.log(error.message)
    writeFileSync(LAST_WORD, JSON.stringify({ failure: error.failure, message: error.message } satisfies BuildWord))
    process.exit(1)
  }
}

await main(process.argv[2])
