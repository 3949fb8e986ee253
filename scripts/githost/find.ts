import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Progress } from '../controlplane/progress.ts'
import { findTool, isToolBuilt, moduleFolder, type Tool } from '../controlplane/tool.ts'

const MODULE = 'code.gitea.io/gitea'
/** SQLite, its database here, is written in C. */
const HOST: Tool = {
  folder: 'gitea',
  package: MODULE,
  name: 'gitea',
  tags: 'sqlite,sqlite_unlock_notify',
  usesC: true,
}

/** Whether starting requires no build. */
export function isGitHostBuilt(): Promise<boolean> {
  return isToolBuilt(HOST)
}

/** The program of the Git host, and the folder of its module with the texts that it reads at its start. */
export type GitHostProgram = { program: string; assets: string }

/**
 * Built once, which takes ten minutes or more, so only on request. Undefined, with a message, without a suitable Go.
 *
 * @throws Error if the build fails
 */
export async function findGitHost(progress: Progress, signal: AbortSignal): Promise<GitHostProgram | undefined> {
  const found = await findTool(HOST, { progress, signal })
  if ('needsGo' in found) {
    progress.note(`No Git host: it is built with Go ${found.needsGo} or newer, which is not on the PATH`)
    return undefined
  }
  const options = { cwd: moduleFolder(HOST), env: { ...process.env, GOFLAGS: '-mod=readonly', GOWORK: 'off' }, signal }
  await promisify(execFile)('go', ['mod', 'download', MODULE], options)
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', MODULE], options)
  return { program: found.program, assets: stdout.trim() }
}
