import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeKey, SshServer } from '../../../../test/cluster/sshServer.ts'
import { fetchedSource } from '../../../../test/make/fetchedSource.ts'
import { knownHostsOf } from '../../../contracts/sources/hostKeys.ts'

describe('fetching a repository over SSH for a build', () => {
  let server: SshServer
  let key: string
  let above: string
  before(async function () {
    server = await SshServer.startOrSkip(this)
    above = await mkdtemp(join(tmpdir(), 'freehold-ssh-builds-'))
    key = makeKey(server.folder, 'deploy-key')
    await server.authorize(key)
  })
  after(async () => {
    await server?.stop()
    if (above !== undefined) await rm(above, { recursive: true, force: true })
  })

  const fetchWith = (entries: { 'private-key': string; 'known-hosts': string }, url = server.url()) =>
    fetchedSource(above, { url, entries })
  const good = async () => ({ 'private-key': await readFile(key, 'utf8'), 'known-hosts': await server.knownHosts() })

  it('uses the key of the source, and the user "git" if the URL names none', async () => {
    for (const url of [server.url(), server.url('shop.git', '')]) {
      const { word, files, log } = await fetchWith(await good(), url)
      expect(word.commit, log).to.match(/^[0-9a-f]{40}$/)
      expect(files).to.deep.equal(['package.json'])
    }
  })

  it('accepts the host key that the platform recorded and rejects any other', async () => {
    const [, type, line] = (await server.knownHosts()).trim().split(' ')
    const connection = { baseUrl: server.url(), credentials: {}, hostKey: `${type} ${line?.split('\n')[0]}` }
    const known = { ...(await good()), 'known-hosts': knownHostsOf(connection) ?? '' }
    expect((await fetchWith(known)).word.commit).to.match(/^[0-9a-f]{40}$/)
    const name = `[127.0.0.1]:${server.port}`
    const other = (await readFile(`${makeKey(server.folder, 'another')}.pub`, 'utf8')).split(' ').slice(0, 2).join(' ')
    for (const lines of ['', `${name} ${other}\n`]) {
      const { word } = await fetchWith({ ...known, 'known-hosts': lines })
      expect(word).to.include({ failure: 'SourceUnreachable' })
      expect(word.message).to.equal('The host key of the Git host is not one of the known ones.')
    }
  })

  it('reports a private key that the host does not accept', async () => {
    const stranger = await readFile(makeKey(server.folder, 'stranger'), 'utf8')
    const { word } = await fetchWith({ ...(await good()), 'private-key': stranger })
    expect(word.message).to.equal(
      'The Git host refused the credentials: check the deployment source of the repository.',
    )
  })
})
