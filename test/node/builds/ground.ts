import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { dump } from 'js-yaml'
import { silentProgress } from '../../../scripts/controlplane/index.ts'
import { NODE_ADDRESS, WRITABLE_REGISTRY } from '../../../scripts/node/addresses.ts'
import { registryConfiguration } from '../../../scripts/node/configuration.ts'
import { stateOf } from '../../../scripts/node/namespaces.ts'
import { findRegistry } from '../../../scripts/registry/find.ts'
import { testPlatform } from '../../worlds/tenant.ts'
import { testNode } from '../shell.ts'

const run = promisify(execFile)
export const HOST_PORT = 8990
export const HOST = `http://${NODE_ADDRESS}:${HOST_PORT}`
/**
 * Where these builds push to: a platform has a registry with accounts there, and images of the node are in the same
 * folder.
 */
export const PUSHED_PORT = 8991
export const PUSHED_TO = `${NODE_ADDRESS}:${PUSHED_PORT}`

/** Precedes the target of what becomes a symbolic link. */
const LINK = 'link to '
export type Files = Readonly<Record<string, string>>

/** Repositories and packages that builds on the node fetch. */
export class Ground {
  readonly #folder: string
  readonly #programs: readonly ChildProcess[]

  private constructor(folder: string, programs: readonly ChildProcess[]) {
    this.#folder = folder
    this.#programs = programs
  }

  static async start(): Promise<Ground> {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-builds-'))
    await mkdir(join(folder, 'git'), { recursive: true })
    const { inNetwork } = await testNode()
    const script = join(import.meta.dirname, 'host.ts')
    const [program = '', ...words] = inNetwork([process.execPath, script, folder, NODE_ADDRESS, String(HOST_PORT)])
    const host = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(host.stdout, 'data')
    return new Ground(folder, [host, await startRegistry(folder)])
  }

  async stop(): Promise<void> {
    for (const program of this.#programs) program.kill()
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Commits these files as the whole content of a repository. @returns the commit */
  async commit(name: string, files: Files): Promise<string> {
    const work = join(this.#folder, 'work', name)
    const git = async (...args: string[]) => {
      const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.test', '-c', 'init.defaultBranch=main']
      return (await run('git', [...who, ...args], { cwd: work })).stdout.trim()
    }
    await mkdir(work, { recursive: true })
    await git('init', '--quiet')
    await git('rm', '-r', '-q', '--ignore-unmatch', '.')
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(work, path)), { recursive: true })
      const isLink = text.startsWith(LINK)
      if (isLink) await symlink(text.slice(LINK.length), join(work, path))
      else await writeFile(join(work, path), text)
    }
    await git('add', '-A')
    await git('commit', '--quiet', '--allow-empty', '-m', 'a change')
    await git('push', '--quiet', '--force', await this.#bare(name), 'HEAD:main')
    return git('rev-parse', 'HEAD')
  }

  async #bare(name: string): Promise<string> {
    const place = join(this.#folder, 'git', `${name}.git`)
    await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', place])
    return place
  }

  /** Stores a tar.gz of these files in the registry of the node. @returns the input of a build */
  async upload(repository: string, files: Files): Promise<string> {
    const folder = join(this.#folder, 'upload')
    await rm(folder, { recursive: true, force: true })
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    const file = `${folder}.tar.gz`
    await run('tar', ['-czf', file, '-C', folder, '.'])
    const { inNetwork } = await testNode()
    const script = join(import.meta.dirname, 'keep.ts')
    const [program = '', ...words] = inNetwork([
      process.execPath,
      script,
      `http://${WRITABLE_REGISTRY}`,
      repository,
      file,
    ])
    return (await run(program, words)).stdout
  }

  /** A package as in an npm registry. @returns its entry in a lock file, which names the public registry */
  async publish(name: string, version: string, code: string): Promise<object> {
    const folder = join(this.#folder, 'package-work', name)
    await mkdir(join(folder, 'package'), { recursive: true })
    await writeFile(join(folder, 'package/package.json'), JSON.stringify({ name, version, main: 'index.js' }))
    await writeFile(join(folder, 'package/index.js'), code)
    const path = `/${name}/-/${name}-${version}.tgz`
    const file = join(this.#folder, path)
    await mkdir(dirname(file), { recursive: true })
    // Packing the same package gives the same file, as in a real registry, because a lock file contains its hash.
    await run('tar', ['-czf', file, '--mtime=@0', '--sort=name', '-C', folder, 'package'])
    const integrity = `sha512-${createHash('sha512')
      .update(await readFile(file))
      .digest('base64')}`
    return { version, resolved: `https://registry.npmjs.org${path}`, integrity }
  }
}

/** Pods of the node can be started from the images that it receives. */
async function startRegistry(folder: string): Promise<ChildProcess> {
  const registry = await findRegistry(silentProgress, new AbortController().signal)
  if (registry === undefined) throw new Error('The registry of the node cannot be built: there is no Go.')
  const file = join(folder, 'registry.yaml')
  const state = stateOf(testPlatform().folder)
  await writeFile(file, dump(registryConfiguration({ state }, PUSHED_TO, { isReadOnly: false })))
  const { inNetwork } = await testNode()
  const [program = '', ...words] = inNetwork([registry, 'serve', file])
  return spawn(program, words, { stdio: 'ignore', env: { ...process.env, OTEL_TRACES_EXPORTER: 'none' } })
}
