import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { fetchedSource } from '../../../../test/make/fetchedSource.ts'
import { serveGit } from '../../../../test/worlds/providers/gitBackend.ts'

describe('fetching a repository over HTTPS for a build', () => {
  let above: string
  let server: Awaited<ReturnType<typeof serveGit>>
  before(async () => {
    above = await mkdtemp(join(tmpdir(), 'freehold-https-builds-'))
    const git = (...args: string[]) => execFileSync('git', args, { cwd: above, stdio: 'ignore' })
    git('init', '--bare', '--initial-branch=trunk', 'shop.git')
    git('clone', 'shop.git', 'work')
    await writeFile(join(above, 'work/package.json'), '{"scripts":{"start":"node ."}}')
    git('-C', 'work', 'add', '.')
    git('-C', 'work', '-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-m', 'first')
    git('-C', 'work', 'push', 'origin', 'HEAD:trunk')
    server = await serveGit(above, { username: 'git', password: 'good' })
  })
  after(async () => {
    await server?.close()
    await rm(above, { recursive: true, force: true })
  })

  /** A volume of a Secret is read-only; here a lock that stays makes git unable to store credentials. */
  function fetchWith(password: string) {
    const url = `${server.url}/shop.git`
    const entries = { 'git-credentials': `https://git:${password}@${new URL(url).host}\n`, 'git-credentials.lock': '' }
    return fetchedSource(above, { url, entries, certificateAuthority: server.certificateAuthority })
  }

  it('uses the password of the source without trying to store it', async () => {
    const { word, log } = await fetchWith('good')
    expect(word.commit, log).to.match(/^[0-9a-f]{40}$/)
    expect(log).to.not.match(/credential|fatal|error/i)
  })

  it('reports a rejected password without trying to erase it', async () => {
    const { word, log } = await fetchWith('other')
    expect(word.message, log).to.equal(
      'The Git host refused the credentials: check the deployment source of the repository.',
    )
    expect(log).to.not.include('credential storage')
  })
})
