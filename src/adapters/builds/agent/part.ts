import { writeFileSync } from 'node:fs'
import { BuildRefusal } from '../../../contracts/builds/files.ts'
import { BUILD_EXIT_CODES, type TerminationMessage } from '../../../contracts/builds/pod.ts'
import type { BuildContainer } from '../../../contracts/builds/progress.ts'
import { buildImage } from './build.ts'
import type { BuildPaths } from './buildPaths.ts'
import { pushImage } from './push.ts'
import { fetchSource } from './source.ts'

type Parts = Partial<Record<BuildContainer, (places: BuildPaths) => Promise<TerminationMessage>>>
const PARTS: Parts = {
  source: fetchSource,
  build: buildImage,
  push: pushImage,
}

/**
 * Runs one part of a build and writes its termination message.
 *
 * @returns the exit status
 * @throws Error for an unknown part, and for faults of the platform
 */
export async function runPart(name: string | undefined, places: BuildPaths, parts = PARTS): Promise<number> {
  const part = Object.entries(parts).find(([known]) => known === name)?.[1]
  if (part === undefined) throw new Error(`Usage: main.ts ${Object.keys(parts).join(' | ')}`)
  try {
    writeFileSync(places.lastWord, JSON.stringify(await part(places)))
    return BUILD_EXIT_CODES.ended
  } catch (error) {
    const refusal = refusalOf(error)
    console.log(refusal.message)
    const { failure, message } = refusal
    writeFileSync(places.lastWord, JSON.stringify({ failure, message } satisfies TerminationMessage))
    return failure === 'BuilderFailed' ? BUILD_EXIT_CODES.builderFailed : BUILD_EXIT_CODES.sourceFailed
  }
}

/** @throws the error itself if the platform is at fault */
function refusalOf(error: unknown): BuildRefusal {
  if (error instanceof BuildRefusal) return error
  const { code } = error as { code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT') return new BuildRefusal('OutOfDisk', 'The build wrote more than allowed.')
  throw error
}
