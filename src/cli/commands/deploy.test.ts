import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'
import { isResourceName } from '../../core/names.ts'
import { nameOf } from './deploy.ts'

describe('nameOf an app from its folder', () => {
  for (const folder of ['My Shop', `${'a'.repeat(39)} b`, 'shop.example.com', '--x--'])
    it(`returns a valid resource name for "${folder}"`, () => {
      expect(isResourceName(nameOf(`/home/ada/${folder}`)), nameOf(folder)).to.equal(true)
    })
})

describe('freehold deploy', () => {
  let commands: CommandsAtServer
  let writes: string[]

  beforeEach(async () => {
    writes = []
    commands = await CommandsAtServer.start(({ method = '', url = '' }, response) => {
      if (method !== 'GET') writes.push(`${method} ${url}`)
      const body = method === 'GET' ? { code: 'NOT_FOUND' } : { code: 'BAD_REQUEST', error: 'It has no such name.' }
      response.writeHead(method === 'GET' ? 404 : 400, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await mkdir(join(commands.home, 'empty'))
    await writeFile(join(commands.home, 'a-file'), '')
  })
  afterEach(() => commands.stop())

  for (const [what, folder, exitCode, said] of [
    ['that does not exist', 'nowhere', 5, /^There is no folder .*nowhere\.\n$/],
    ['that is a file', 'a-file', 5, /^.*a-file is not a folder/],
    ['that is empty', 'empty', 2, /^There is nothing in .*empty to send\.\n$/],
  ] as const) {
    it(`creates nothing for a folder ${what}`, async () => {
      const words = ['deploy', join(commands.home, folder), '-b', 'b', '-g', 'g']
      expect(await commands.freehold(...words), commands.said).to.equal(exitCode)
      expect(commands.said).to.match(said)
      expect(writes).to.deep.equal([])
    })
  }

  for (const [kind, said] of [
    ['staticwebapp', /staticwebapps cannot be built from a folder: create it from a repository or an image, or deploy/],
    ['job', /jobs cannot be built from a folder: deploy the folder as an app\./],
  ] as const) {
    it(`rejects a ${kind}, which cannot be built from a folder`, async () => {
      const words = ['deploy', commands.home, '--name', 'site', '--kind', kind, '-b', 'b', '-g', 'g']
      expect(await commands.freehold(...words), commands.said).to.equal(2)
      expect(commands.said).to.match(said)
      expect(writes).to.deep.equal([])
    })
  }

  it('does not say that it created an app that REST rejected', async () => {
    await writeFile(join(commands.home, 'empty', 'index.html'), 'a')
    expect(
      await commands.freehold('deploy', join(commands.home, 'empty'), '--name', 'Bad Name', '-b', 'b', '-g', 'g'),
    ).to.be.oneOf([1, 2])
    expect(commands.said).to.include('It has no such name').and.not.to.include('is made')
    expect(writes).to.have.length(1)
  })
})

describe('freehold deploy of a function', () => {
  let commands: CommandsAtServer
  let sent: { path: string; content: string }[]
  let isMade: boolean
  /** How many lists of deployments are empty before the deployment appears. */
  let early: number

  beforeEach(async () => {
    sent = []
    isMade = true
    early = 0
    commands = await CommandsAtServer.start(async (request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://localhost')
      const answer = (body: object | string, status = 200) =>
        response
          .writeHead(status, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' })
          .end(typeof body === 'string' ? body : JSON.stringify(body))
      if (request.method === 'POST' && pathname.endsWith('/functionnamespaces/calls/functions/hello/source')) {
        sent = (JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()) as { files: typeof sent }).files
        return answer({ deploymentId: 'd' })
      }
      if (pathname.endsWith('/functionnamespaces/calls/deployments')) {
        early -= 1
        return answer({ items: early >= 0 ? [] : [{ id: 'd', phase: 'Succeeded', lastMessage: '' }] })
      }
      if (pathname.endsWith('/functionnamespaces/calls/deployments/d/build-logs') && early < 0)
        return answer('Step 1\n')
      if (pathname.endsWith('/functions/hello') && isMade)
        return answer({ name: 'hello', invokeUrl: 'https://calls.example/hello', buildStatus: 'NoSource' })
      return answer({ code: 'NOT_FOUND', error: 'Function "hello" does not exist.' }, 404)
    })
    await mkdir(join(commands.home, 'hello'))
    await writeFile(join(commands.home, 'hello', 'index.mjs'), 'export default 1')
  })
  afterEach(() => commands.stop())

  const deploy = () =>
    commands.freehold(
      ...[
        'deploy',
        join(commands.home, 'hello'),
        '--kind',
        'function',
        '-p',
        'namespaceName=calls',
        '-b',
        'b',
        '-g',
        'g',
      ],
    )

  it('uploads the files and prints the build log, the phase and the URL', async () => {
    expect(await deploy(), commands.said).to.equal(0)
    expect(sent).to.deep.equal([
      { path: 'index.mjs', content: Buffer.from('export default 1').toString('base64'), encoding: 'Base64' },
    ])
    expect(commands.said).to.include('Sending 1 file').and.to.include('Step 1').and.to.include('hello: Succeeded')
    expect(commands.said).to.include('hello: https://calls.example/hello')
  })

  it('waits for the deployment and its build log, which appear after the upload', async () => {
    early = 1
    expect(await deploy(), commands.said).to.equal(0)
    expect(commands.said)
      .to.include('Step 1')
      .and.to.include('hello: Succeeded')
      .and.not.to.match(/gone|cannot be shown/)
  })

  it('is suggested by describe for a function without a source', async () => {
    await commands.freehold('describe', 'function', 'hello', '-p', 'namespaceName=calls', '-b', 'b', '-g', 'g')
    expect(commands.said).to.include(
      'freehold deploy FOLDER --kind function --name hello -b b -g g -p namespaceName=calls',
    )
  })

  it('is followed by `open`, which prints the URL of the function', async () => {
    await commands.freehold('open', 'function', 'hello', '-p', 'namespaceName=calls', '-b', 'b', '-g', 'g')
    expect(commands.said).to.equal('https://calls.example/hello\n')
  })

  it('fails if the function does not exist, and does not create it', async () => {
    isMade = false
    expect(await deploy()).to.equal(2)
    expect(commands.said).to.include('Function "hello" does not exist. Create it first, with its handler.')
    expect(sent).to.deep.equal([])
  })

  it('rejects a symbolic link', async () => {
    await symlink('index.mjs', join(commands.home, 'hello', 'main.mjs'))
    expect(await deploy()).to.equal(5)
    expect(commands.said).to.match(/hello\/main\.mjs is a link: a function takes files only\./)
  })
})
