import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { dump } from 'js-yaml'
import { patiently, pauseAfterWords } from '../make/patience.ts'
import { testPlatform } from './tenant.ts'

export type Ran = { code: number; stdout: string; stderr: string }
export type KubectlOptions = {
  /** The content of the file `-`. */
  input?: object
  /** By default the administrator's. */
  kubeconfig?: string
  env?: Record<string, string>
}

/** One run of kubectl, successful or not; repeated if the API server was slow. */
export function ranKubectl(words: readonly string[], { input, kubeconfig, env }: KubectlOptions = {}): Promise<Ran> {
  const { kubectlPath, kubeconfig: administrators } = testPlatform()
  const run = () =>
    new Promise<Ran>((done) => {
      // The default folder is by address, and keeps for hours what another platform served there.
      const cache = join(dirname(administrators), 'kubectl-cache')
      const all = ['--kubeconfig', kubeconfig ?? administrators, '--cache-dir', cache, ...words]
      const options = { maxBuffer: 16 * 1024 * 1024, ...(env && { env }) }
      const child = execFile(kubectlPath, all, options, (error, stdout, stderr) =>
        done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      )
      if (input !== undefined) child.stdin?.end(dump(input))
    })
  return patiently(run, ({ code, stdout, stderr }) => (code === 0 ? undefined : pauseAfterWords(stdout + stderr)))
}

/**
 * The same for a command that must succeed.
 *
 * @returns its output
 * @throws Error with its `stdout` and its `stderr`
 */
export async function kubectl(words: readonly string[], options: KubectlOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await ranKubectl(words, options)
  if (code === 0) return stdout
  throw Object.assign(new Error(`kubectl ${words.join(' ')}: ${stderr}`), { stdout, stderr })
}
