import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildRefusal, type SourceFiles } from '../../contracts/builds/files.ts'
import { RUNTIMES } from '../../contracts/builds/runtimes.ts'
import type { Command, Input } from '../command.ts'
import { localFailure, usage } from '../failure.ts'

const FILE_MAX_BYTES = 1024 ** 2

/** Shows how a folder would be built, by the same rules as on the platform and without calling it. */
export const init: Command = {
  name: 'init',
  summary: 'Show the Dockerfile that a build would use for a folder',
  positionals: [{ name: 'FOLDER', isOptional: true }],
  options: [
    { long: 'runtime', value: 'NAME', choices: RUNTIMES.map(({ name }) => name), summary: 'Build with this one' },
    { long: 'runtime-version', value: 'VERSION', summary: 'Build with this version' },
    { long: 'build-command', value: 'COMMAND', summary: 'Instead of the detected one' },
    { long: 'start-command', value: 'COMMAND', summary: 'Instead of the detected one' },
    { long: 'site', summary: 'Build a site of files, not a process that listens' },
    { long: 'output-path', value: 'PATH', summary: 'Where the build of a site puts its files (default dist)' },
    { long: 'port', value: 'PORT', summary: 'Port that the process listens on (default 8080)' },
    { long: 'write', summary: 'Write it as Dockerfile into the folder, if there is none' },
  ],
  async run(input, { terminal }) {
    const folder = input.positionals[0] ?? '.'
    const plan = await planOf(filesOf(folder), input)
    const { dockerfile, server, runtime, runtimeVersion } = plan
    if (dockerfile === undefined) {
      terminal.err('The folder has a Dockerfile, which is used as it is; --runtime shows another one.\n')
      return
    }
    terminal.err(`Built with ${runtime} ${runtimeVersion ?? ''}\n`)
    if (!input.has('write')) {
      terminal.out(dockerfile)
      return
    }
    if (Object.keys(server).length > 0)
      throw usage('The Dockerfile of a site takes its web server from the build, so it works only there.')
    const path = join(folder, 'Dockerfile')
    await writeFile(path, dockerfile, { flag: 'wx' }).catch((error: unknown) => {
      throw localFailure(`${path} was not written.`, error)
    })
    terminal.err(`Written to ${path}\n`)
  },
}

async function planOf(files: SourceFiles, input: Input) {
  const port = Number(input.text('port') ?? 8080)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw usage('--port must be a number from 1 to 65535.')
  // Loaded here only, because it knows every runtime and is large.
  const { planBuild } = await import('../../contracts/builds/plan.ts')
  try {
    return planBuild(files, {
      purpose: input.has('site') ? 'Site' : 'Service',
      runtime: input.text('runtime'),
      runtimeVersion: input.text('runtime-version'),
      buildCommand: input.text('build-command'),
      startCommand: input.text('start-command'),
      outputPath: input.text('output-path'),
      port,
      environmentVersion: '',
      mirrors: {},
    })
  } catch (error) {
    throw error instanceof BuildRefusal ? usage(error.message) : error
  }
}

/** Reads the root and one level of folders, like a build. */
function filesOf(folder: string): SourceFiles {
  const paths = new Set<string>()
  const add = (path: string, isDeep: boolean) => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      if (entry.isFile()) paths.add(`${path}${entry.name}`)
      if (!entry.isDirectory()) continue
      paths.add(`${path}${entry.name}/`)
      if (isDeep && entry.name !== 'node_modules' && entry.name !== '.git') add(`${path}${entry.name}/`, false)
    }
  }
  try {
    add('', true)
  } catch (error) {
    throw localFailure(`The folder ${folder} cannot be read.`, error)
  }
  const isShort = (path: string) => lstatSync(join(folder, path)).size <= FILE_MAX_BYTES
  return {
    paths,
    text: (path) => (paths.has(path) && isShort(path) ? readFileSync(join(folder, path), 'utf8') : undefined),
  }
}
