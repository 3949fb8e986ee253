import {
  firstExistingPath,
  nonEmptyStringAt,
  nothingToBuild,
  parseJsonFile,
  procfileWebCommand,
  type SourceFiles,
} from '../files.ts'
import {
  envInstruction,
  installInstructions,
  type Recipe,
  type RecipeInput,
  run,
  runWithVariables,
} from './dockerfile.ts'

type Manager = {
  readonly lock: string | undefined
  /** Installs the package manager where the image has none, as those of Node.js 26. */
  readonly bring?: string
  readonly install: string
  readonly script: (name: string) => string
  /** Removes what is only needed to build. */
  readonly prune: string | undefined
}

const NPM: Omit<Manager, 'lock' | 'install'> = { script: (name) => `npm run ${name}`, prune: 'npm prune --omit=dev' }

const ensureProgram = (program: string) => `command -v ${program} || npm install --global ${program}`

/** Returns the manager that wrote the lock file. A lock is binding: a build fails rather than take other versions. */
export function packageManagerOf(files: SourceFiles): Manager {
  const lock = firstExistingPath(files, 'package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock')
  if (lock === undefined) return { ...NPM, lock, install: 'npm install --no-audit --no-fund' }
  if (lock === 'pnpm-lock.yaml') {
    return {
      lock,
      bring: ensureProgram('corepack'),
      install: 'corepack enable && pnpm install --frozen-lockfile',
      script: (name) => `pnpm run ${name}`,
      prune: 'pnpm prune --prod',
    }
  }
  if (lock !== 'yarn.lock') return { ...NPM, lock, install: 'npm ci --no-audit --no-fund' }
  const isClassic = !files.paths.has('.yarnrc.yml')
  return {
    lock,
    bring: ensureProgram(isClassic ? 'yarn' : 'corepack'),
    install: isClassic ? 'yarn install --frozen-lockfile' : 'corepack enable && yarn install --immutable',
    script: (name) => `yarn run ${name}`,
    prune: isClassic ? 'yarn install --frozen-lockfile --production' : undefined,
  }
}

/** Scripts that npm runs by itself on installation. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare']
/** No script, or one that installs Git hooks, which an image does not need. */
const HARMLESS_SCRIPT = /^(husky( install)?)?$/

/** Whether an installation needs more than manifests: workspaces and patches are in folders that we cannot know. */
function needsOtherFiles(files: SourceFiles, manifest: Readonly<Record<string, unknown>>): boolean {
  if (manifest.workspaces !== undefined || firstExistingPath(files, 'pnpm-workspace.yaml', '.yarn/') !== undefined)
    return true
  if (INSTALL_SCRIPTS.some((name) => !HARMLESS_SCRIPT.test(nonEmptyStringAt(manifest, 'scripts', name) ?? '')))
    return true
  return /"(file|link|portal|patch):|"patchedDependencies"/.test(files.text('package.json') ?? '')
}

/** Installs and builds: the common beginning of services and sites. */
export function buildOfNode(input: RecipeInput, { isPruned }: { isPruned: boolean }): string[] {
  const { files, buildCommand, mirrors } = input
  const manifest = parseJsonFile(files, 'package.json')
  const { lock, bring, install, script, prune } = packageManagerOf(files)
  const isDescribed = files.paths.has('package.json')
  const described = ['package.json', lock, '.npmrc', '.yarnrc.yml', '.pnpmfile.cjs'].flatMap((path) =>
    path !== undefined && files.paths.has(path) ? [path] : [],
  )
  const mirror = mirrors.npm?.replace(/\/+$/, '')
  const command =
    buildCommand ?? (nonEmptyStringAt(manifest, 'scripts', 'build') === undefined ? undefined : script('build'))
  return [
    // Corepack and newer versions of yarn ignore npm's settings.
    ...(bring === undefined ? [] : envInstruction({ COREPACK_NPM_REGISTRY: mirror, YARN_NPM_REGISTRY_SERVER: mirror })),
    ...envInstruction({ npm_config_registry: mirrors.npm, npm_config_replace_registry_host: mirrors.npm && 'always' }),
    ...(lock === undefined && isDescribed
      ? ['# There is no lock file: versions may differ from one build to the next.']
      : []),
    ...(bring !== undefined && isDescribed ? [run(bring)] : []),
    ...installInstructions(isDescribed ? described : [], [install], needsOtherFiles(files, manifest)),
    ...(command === undefined ? [] : runWithVariables(command, input)),
    ...(isPruned && prune !== undefined && lock !== undefined ? [run(prune)] : []),
  ]
}

export const nodeRecipe: Recipe = (input) => ({
  build: buildOfNode(input, { isPruned: true }),
  environment: { NODE_ENV: 'production' },
  last: ['COPY --from=build /app ./'],
  start: startCommandOf(input),
})

function startCommandOf({ files, startCommand }: RecipeInput): string | string[] {
  const manifest = parseJsonFile(files, 'package.json')
  const start = nonEmptyStringAt(manifest, 'scripts', 'start')
  // Node itself receives the stop signal; the shell of a script would not pass it on.
  const [, file] = /^node ([\w./-]+)$/.exec(start ?? '') ?? []
  if (file !== undefined) return ['node', file]
  const found = procfileWebCommand(files) ?? (start === undefined ? undefined : 'npm start')
  if (found !== undefined || startCommand !== undefined) return found ?? ''
  const main = firstExistingPath(
    files,
    nonEmptyStringAt(manifest, 'main') ?? 'server.js',
    'server.js',
    'index.js',
    'server.mjs',
    'index.mjs',
  )
  if (main !== undefined) return ['node', main]
  throw nothingToBuild('package.json has no start script, and there is no server.js or index.js: set startCommand.')
}
