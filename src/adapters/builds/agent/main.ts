import { writeFileSync } from 'node:fs'
import { BuildRefusal } from '../../../contracts/builds/files.ts'
import type { BuildWord } from '../../../contracts/builds/pod.ts'
import type { BuildContainer } from '../../../contracts/builds/progress.ts'
import { buildImage } from './build.ts'
import { type Places, placesBelow } from './places.ts'
import { pushImage } from './push.ts'
import { fetchSource } from './source.ts'

const PARTS: Readonly<Record<BuildContainer, (places: Places) => Promise<BuildWord>>> = {
  source: fetchSource,
  build: buildImage,
  push: pushImage,
}

/** Runs one part of a build, in a container of its own; below a folder, where a test names one. */
async function main(name: string | undefined, root = '/'): Promise<void> {
  const places = placesBelow(root)
  process.on('SIGTERM', () => process.exit(143))
  const part = Object.entries(PARTS).find(([known]) => known === name)?.[1]
  if (part === undefined) throw new Error(`Usage: main.ts ${Object.keys(PARTS).join(' | ')}`)
  try {
    writeFileSync(places.lastWord, JSON.stringify(await part(places)))
    process.exit(0)
  } catch (error) {
    const refusal = refusalOf(error)
    console.log(refusal.message)
    const { failure, message } = refusal
    writeFileSync(places.lastWord, JSON.stringify({ failure, message } satisfies BuildWord))
    process.exit(1)
  }
}

/** @throws what is our own fault */
function refusalOf(error: unknown): BuildRefusal {
  if (error instanceof BuildRefusal) return error
  const { code } = error as { code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new BuildRefusal('OutOfDisk', 'The build wrote more than a build may.')
  throw error
}

await main(process.argv[2], process.argv[3])
