import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type Content = Readonly<Record<string, string | Uint8Array>>

/** A bare repository `<name>.git` in the folder, and a working one, whose branches `push` sets. */
export async function makeRepository(folder: string, name: string, { canFilter }: { canFilter: boolean }) {
  const work = join(folder, `${name}-work`)
  const run = promisify(execFile)
  const git = async (...args: string[]) =>
    (await run('git', ['-c', 'protocol.file.allow=always', ...args], { cwd: work })).stdout.trim()
  await mkdir(dirname(work), { recursive: true })
  await run('git', ['init', '--quiet', '--bare', join(folder, `${name}.git`)])
  await run('git', ['-C', join(folder, `${name}.git`), 'config', 'uploadpack.allowFilter', String(canFilter)])
  await run('git', ['init', '--quiet', work])
  await git('config', 'user.name', 'a')
  await git('config', 'user.email', 'a@example.com')
  await git('remote', 'add', 'origin', join(folder, `${name}.git`))
  const commit = async (branch: string) => {
    await git('commit', '--quiet', '--allow-empty', '-m', 'a change')
    await git('push', '--quiet', '--force', 'origin', `HEAD:refs/heads/${branch}`)
    return git('rev-parse', 'HEAD')
  }
  return {
    work,
    git,
    commit,
    async push(branch: string, files: Content) {
      await git('checkout', '--quiet', '-B', branch)
      await git('rm', '-rq', '--ignore-unmatch', '.')
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(work, path)), { recursive: true })
        await writeFile(join(work, path), content)
      }
      await git('add', '--all', '--force')
      return commit(branch)
    },
    tag: async (name: string, branch: string) => {
      await git('tag', '-a', '-m', 'a release', name, branch)
      await git('push', '--quiet', 'origin', name)
    },
  }
}
