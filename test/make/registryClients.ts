import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { findTool } from '../../scripts/controlplane/tool.ts'

const PACKAGES = {
  crane: 'github.com/google/go-containerregistry/cmd/crane',
  regctl: 'github.com/regclient/regclient/cmd/regctl',
} as const

export type Ran = { code: number; out: string; error: string }
export type RegistryClient = {
  run(...args: readonly string[]): Promise<Ran>
  /** @throws Error with what it said, if it failed */
  succeed(...args: readonly string[]): Promise<string>
  /** Forgets who is signed in. */
  close(): Promise<void>
}

/** An ordinary registry client with its own settings and logins. */
export async function registryClient(name: keyof typeof PACKAGES): Promise<RegistryClient> {
  const tool = { folder: 'registryclients', package: PACKAGES[name], name }
  const found = await findTool(tool, { progress: silentProgress, signal: undefined })
  if (!('program' in found)) throw new Error(`${name} needs Go ${found.needsGo}.`)
  const home = await mkdtemp(join(tmpdir(), `freehold-${name}-`))
  const env = { ...process.env, HOME: home, DOCKER_CONFIG: home, REGCTL_CONFIG: join(home, 'regctl.json') }
  const run = (...args: readonly string[]) =>
    new Promise<Ran>((resolve) => {
      execFile(found.program, args, { env, encoding: 'utf8' }, (failure, out, error) => {
        resolve({ code: failure === null ? 0 : 1, out, error })
      })
    })
  return {
    run,
    async succeed(...args) {
      const ran = await run(...args)
      if (ran.code !== 0) throw new Error(`${name} ${args[0]} failed: ${ran.error.slice(-600)}`)
      return ran.out.trim()
    },
    close: () => rm(home, { recursive: true, force: true }),
  }
}
