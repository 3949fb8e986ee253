import { DEFAULT_SITE, siteConfiguration } from '../staticwebapps/configuration.ts'
import { SITE_CONFIGURATION, SITE_START, START_FILE } from '../staticwebapps/start.ts'
import { detectRuntime } from './detect.ts'
import { BuildRefusal, type SourceFiles } from './files.ts'
import type { BuildTask } from './pod.ts'
import { dotnetRecipe, goRecipe, javaRecipe, rustRecipe } from './recipes/compiled.ts'
import { dockerfileOf, type Recipe, type RecipeInput } from './recipes/dockerfile.ts'
import { phpRecipe, rubyRecipe } from './recipes/interpreted.ts'
import { nodeRecipe } from './recipes/node.ts'
import { pythonRecipe } from './recipes/python.ts'
import { siteDockerfile } from './recipes/site.ts'
import type { RuntimeName } from './runtimes.ts'

const RECIPES: Readonly<Record<Exclude<RuntimeName, 'static'>, Recipe>> = {
  nodejs: nodeRecipe,
  python: pythonRecipe,
  go: goRecipe,
  java: javaRecipe,
  dotnet: dotnetRecipe,
  php: phpRecipe,
  ruby: rubyRecipe,
  rust: rustRecipe,
}

/** The Dockerfile of a build, and what it was derived from. */
export type BuildPlan = {
  /** The source's own Dockerfile; undefined if we wrote one. */
  readonly dockerfilePath: string | undefined
  readonly dockerfile: string | undefined
  /** Files for a Dockerfile that we wrote, as a build context named `server`. */
  readonly server: Readonly<Record<string, string>>
  readonly runtime: string
  readonly runtimeVersion: string | undefined
}

type PlanInput = Pick<
  BuildTask['recipe'],
  | 'purpose'
  | 'runtime'
  | 'runtimeVersion'
  | 'builderImage'
  | 'buildCommand'
  | 'startCommand'
  | 'dockerfilePath'
  | 'outputPath'
  | 'port'
  | 'site'
  | 'environmentVersion'
> & { mirrors: RecipeInput['mirrors'] }

/** Never copied into an image: leftovers of a clone, and packages that are installed anew. */
export const DOCKERIGNORE_PATTERNS = ['.git', '**/node_modules', '**/.DS_Store']

const IMAGE = /^[\w][\w.:/@-]{0,511}$/

/**
 * Decides how a source is built: with the Dockerfile that was named; with the one in its root, unless a runtime was
 * asked for; otherwise with one that we write for its runtime.
 *
 * @throws BuildRefusal
 */
export function planBuild(files: SourceFiles, request: PlanInput): BuildPlan {
  const own = dockerfileOfSource(files, request)
  if (own !== undefined) {
    return { dockerfilePath: own, dockerfile: undefined, server: {}, runtime: 'dockerfile', runtimeVersion: undefined }
  }
  const isStatic = request.runtime === 'static'
  const isSite = request.purpose === 'Site' || isStatic
  const withNode = isSite && !isStatic && (files.paths.has('package.json') || request.buildCommand !== undefined)
  const detected = isSite
    ? detectRuntime(files, { ...request, runtime: request.runtime ?? (withNode ? 'nodejs' : 'static') })
    : detectRuntime(files, request)
  const { runtime, by } = detected
  const version = {
    ...detected.version,
    ...(request.builderImage !== undefined && { builderImage: checkedImage(request.builderImage) }),
  }
  const input = { ...request, files, runtime, version } as RecipeInput
  const common = { dockerfilePath: undefined, runtime: runtime.name, runtimeVersion: version.version }
  if (isSite || runtime.name === 'static') {
    const configuration = siteConfiguration(request.site ?? DEFAULT_SITE, { port: request.port })
    const server = { [SITE_CONFIGURATION]: configuration, [START_FILE]: SITE_START }
    return { ...common, dockerfile: siteDockerfile(input, request.outputPath), server }
  }
  return { ...common, dockerfile: dockerfileOf(RECIPES[runtime.name], input, by), server: {} }
}

function dockerfileOfSource(files: SourceFiles, { dockerfilePath, runtime, purpose }: PlanInput): string | undefined {
  if (dockerfilePath !== undefined) return dockerfilePath.replace(/^\/+/, '')
  return runtime === undefined && purpose === 'Service' && files.paths.has('Dockerfile') ? 'Dockerfile' : undefined
}

function checkedImage(image: string): string {
  if (IMAGE.test(image)) return image
  throw new BuildRefusal('NothingToBuild', `builderImage "${image.slice(0, 80)}" is not the name of an image.`)
}
