import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'
import { isResourceName } from '../../core/names.ts'
import { nameOf } from './deploy.ts'

describe('the name of an app', () => {
  for (const folder of ['My Shop', `${'a'.repeat(39)} b`, 'shop.example.com', '--x--'])
    it(`is made of that of its folder, such as "${folder}"`, () => {
      expect(isResourceName(nameOf(`/home/ada/${folder}`)), nameOf(folder)).to.equal(true)
    })
})

describe('deploy', () => {
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
    ['that there is not', 'nowhere', 5, /^There is no folder .*nowhere\.\n$/],
    ['that is a file', 'a-file', 5, /^.*a-file is not a folder/],
    ['with nothing in it', 'empty', 2, /^There is nothing in .*empty to send\.\n$/],
  ] as const) {
    it(`makes nothing for a folder ${what}`, async () => {
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
    it(`says that a ${kind} is not made of a folder`, async () => {
      const words = ['deploy', commands.home, '--name', 'site', '--kind', kind, '-b', 'b', '-g', 'g']
      expect(await commands.freehold(...words), commands.said).to.equal(2)
      expect(commands.said).to.match(said)
      expect(writes).to.deep.equal([])
    })
  }

  it('says that it made an app only where it did', async () => {
    await writeFile(join(commands.home, 'empty', 'index.html'), 'a')
    expect(
      await commands.freehold('deploy', join(commands.home, 'empty'), '--name', 'Bad Name', '-b', 'b', '-g', 'g'),
    ).to.be.oneOf([1, 2])
    expect(commands.said).to.include('It has no such name').and.not.to.include('is made')
    expect(writes).to.have.length(1)
  })
})
