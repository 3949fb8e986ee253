import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { commandLine } from '../../../test/make/commandLine.ts'
import { run } from '../run.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'

const listOf = (...items: object[]) => ({ items, pagination: { hasNextPage: false } })

describe('freehold commands on resources', () => {
  let server: Server
  let home: string
  let out: string
  let err: string
  let answer: string | undefined
  /** Responses to GET, by the end of the path; empty lists for other paths. */
  let records: Record<string, object> = {}
  let deleted: string[] = []
  let patched: string[] = []
  /** Bodies of PUT, with their path and If-Match. */
  let put: object[] = []

  before(async () => {
    const items = JSON.stringify({ items: [], pagination: { hasNextPage: false } })
    server = createServer((request, response) => {
      const { method, url = '' } = request
      if (method === 'DELETE') deleted.push(url)
      if (method === 'PATCH') request.on('data', (chunk) => patched.push(String(chunk)))
      if (method === 'PUT')
        request.on('data', (chunk) =>
          put.push({ url, match: request.headers['if-match'], ...JSON.parse(String(chunk)) }),
        )
      const path = Object.keys(records).find((end) => url.split('?')[0]?.endsWith(end))
      const given = method === 'GET' && path !== undefined ? JSON.stringify(records[path]) : items
      response.writeHead(200, { etag: '"7"' }).end(given)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    home = await mkdtemp(join(tmpdir(), 'freehold-resources-'))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await freehold('setup', '--facade-url', url, '--issuer', 'http://127.0.0.1:1/realms/x')).to.equal(0)
  })
  after(async () => {
    server.close()
    await rm(home, { recursive: true })
  })

  async function ask(question: string): Promise<string> {
    err += question
    return answer ?? ''
  }

  function freehold(...words: string[]): Promise<number> {
    out = ''
    err = ''
    const terminal = {
      ask: answer === undefined ? undefined : ask,
      out: (text: string) => {
        out += text
      },
      err: (text: string) => {
        err += text
      },
    }
    return run(words, commandLine(home, { environment: { PLATFORM_TOKEN: 'a-token' }, terminal }))
  }

  it('print "No items found." for an empty table, and [] for a program', async () => {
    for (const format of ['table', 'wide']) {
      expect(await freehold('list', 'deploys', '-b', BOUNDARY, '-o', format), err).to.equal(0)
      expect([out, err]).to.deep.equal(['', 'No items found.\n'])
    }
    expect(await freehold('list', 'deploys', '-b', BOUNDARY), err).to.equal(0)
    expect([out, err]).to.deep.equal(['[]\n', ''])
  })

  const below: [what: string, words: string[]][] = [
    ['a secret of a vault', ['secret', 'Token', '--param', 'resourceName=safe']],
    ['a bucket of an account', ['bucket', 'photos', '--param', 'accountName=media']],
    ['a function of a namespace', ['function', 'hello', '--param', 'namespaceName=calls']],
    ['an access key, which cannot be read', ['accesskey', BOUNDARY, '--param', 'accountName=media']],
  ]
  for (const [what, words] of below)
    it(`delete ${what}`, async () => {
      expect(await freehold('delete', ...words, '-b', BOUNDARY, '-g', 'shop'), err).to.equal(0)
    })

  const scaled: [what: string, words: string[], record: object, said: RegExp | undefined][] = [
    ['an app with a field of replicas', ['app', 'shop'], { name: 'shop', replicas: 1, minReplicas: null }, undefined],
    ['an app that scales automatically', ['app', 'shop'], { replicas: 1, minReplicas: 1 }, /app shop scales by itself/],
    [
      'an instance of several components',
      ['cti', 'site'],
      { components: [{ name: 'web', replicas: 2 }] },
      /components of cti site have copies of their own \(web 2\).*components\[\]\.replicas/,
    ],
    ['a kind without replicas', ['osa', 'site'], { name: 'site' }, /have no replicas to change/],
    ['a kind that cannot be changed', ['job', 'report'], { replicas: 1 }, /have no replicas to change/],
  ]
  for (const [what, words, record, said] of scaled)
    it(`scale, or explain why not: ${what}`, async () => {
      records = { [`/${words[1]}`]: record }
      patched = []
      const exitCode = await freehold('scale', ...words, '3', '-b', BOUNDARY, '-g', 'shop')
      expect(exitCode, err).to.equal(said === undefined ? 0 : 2)
      expect(patched).to.deep.equal(said === undefined ? ['{"replicas":3}'] : [])
      if (said !== undefined) expect(err).to.match(said)
    })

  const losses: [what: string, words: string[], said: RegExp, records: Record<string, object>][] = [
    [
      'a vault that contains secrets',
      ['secretvault', 'safe'],
      /It holds 2 secrets/,
      { '/secretvaults/safe': { name: 'safe', secretCount: 2 } },
    ],
    [
      'a database that an app refers to',
      ['relc', 'orders'],
      /Others refer to it: apps shop\./,
      { '/apps': listOf({ name: 'shop', env: [{ output: { collection: 'relationalclusters', name: 'orders' } }] }) },
    ],
    [
      'a secret that a job refers to',
      ['secret', 'Token', '--param', 'resourceName=safe'],
      /jobs report/,
      { '/jobs': listOf({ name: 'report', env: { A: '@vault(safe/Token)' } }) },
    ],
    [
      'an account that a function refers to',
      ['osa', 'media'],
      /functions hello/,
      {
        '/functionnamespaces': listOf({ name: 'calls' }),
        '/functionnamespaces/calls/functions': listOf({
          name: 'hello',
          env: [{ output: { collection: 'objectstorageaccounts', name: 'media' } }],
        }),
      },
    ],
  ]
  for (const [what, words, said, found] of losses)
    it(`delete only after a confirmation or with --yes: ${what}`, async () => {
      records = found
      deleted = []
      const command = ['delete', ...words, '-b', BOUNDARY, '-g', 'shop']
      answer = undefined
      expect(await freehold(...command)).to.equal(2)
      expect(err).to.match(said).and.to.include('--yes')
      answer = 'no'
      expect(await freehold(...command)).to.equal(2)
      expect(err).to.match(said).and.to.include('Nothing was deleted.')
      expect(deleted).to.deep.equal([])
      answer = words[1]
      expect(await freehold(...command), err).to.equal(0)
      answer = undefined
      expect(await freehold(...command, '--yes'), err).to.equal(0)
      expect(deleted).to.have.length(2)
      records = {}
    })

  it('name the valid form of the given command in errors', async () => {
    expect(await freehold('create', 'blueprint', 'x', '-b', BOUNDARY, '-d', '{}')).to.equal(2)
    expect(err).to.equal(
      `This command cannot create blueprints; this does:\n  freehold call POST /boundaries/${BOUNDARY}/resources/blueprints/templates -d '{...}'\n`,
    )
    expect(await freehold('describe', 'vectorcluster', 'products', '-b', BOUNDARY)).to.equal(2)
    expect(err).to.match(
      /^--group is missing\. Valid form:\n {2}freehold describe vectorclusters NAME --boundary ID --group NAME\n`freehold list/,
    )
    expect(await freehold('create', 'secret', 'x', '-b', BOUNDARY, '-g', 'shop', '-d', '{}')).to.equal(2)
    expect(err).to.match(/^--param resourceName=\.\.\. is missing\. Valid form:\n {2}freehold create secrets NAME /)
  })

  it('replace the record with If-Match if the kind has no PATCH, and fail if it cannot be changed', async () => {
    const env = [{ name: 'COLOUR', value: 'red' }]
    records = { '/functions/hello': { name: 'hello', computePlan: 'small', env } }
    put = []
    const words = ['function', 'hello', '-p', 'namespaceName=calls', '-b', BOUNDARY, '-g', 'shop']
    expect(await freehold('env', 'set', ...words.slice(0, 2), 'SIZE=2', ...words.slice(2)), err).to.equal(0)
    const url = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/functionnamespaces/calls/functions/hello`
    const next = { name: 'hello', computePlan: 'small', env: [...env, { name: 'SIZE', value: '2' }] }
    expect(put).to.deep.equal([{ url, match: '"7"', ...next }])
    records = { '/jobs/report': { name: 'report', env } }
    expect(await freehold('env', 'set', 'job', 'report', 'SIZE=2', '-b', BOUNDARY, '-g', 'shop')).to.equal(2)
    expect(err).to.equal('jobs cannot be changed: delete job report, and create it again.\n')
    records = {}
  })

  it('reject --all-groups if the kind has no list across groups', async () => {
    const place = ['-b', BOUNDARY, '-A']
    expect(await freehold('get', 'functions', ...place)).to.equal(2)
    expect(err).to.equal(
      'functions have no list across groups, so that --all-groups is not possible. Valid form:\n  freehold get functions --boundary ID --group NAME --param namespaceName=...\n',
    )
    expect(await freehold('get', 'vc', 'products', ...place)).to.equal(2)
    expect(err).to.match(/^--all-groups is for lists: name the group of vectorclusters products\. Valid form:\n/)
    expect(await freehold('get', 'vc', ...place), err).to.equal(0)
  })

  it('list the fields of a kind in the help of create and in `kinds`', async () => {
    expect(await freehold('create', 'vc', '--help'), err).to.equal(0)
    expect(out)
      .to.match(/^Create something: vectorclusters\.\n\n {2}freehold create vectorclusters NAME /)
      .and.to.match(/\n {2}replicas +integer, 0 to 99 +Peers/)
      .and.to.match(/\n {2}apiKeyEnabled +boolean +true /)
      .and.to.match(/\n {2}storageSize +quantity of bytes from 1Mi to 1Ei /)
    const said = out.slice(out.indexOf('Fields of'))
    expect(await freehold('kinds', 'vc'), err).to.equal(0)
    expect(out)
      .to.match(/^KIND .*\nvectorclusters /)
      .and.to.include(said)
    expect(await freehold('create', 'cti', '--help'), err).to.equal(0)
    expect(out).to.match(/\n {2}components\[\]\.image +string, 1 to 512 characters +required/)
    for (const word of ['blueprints/source', 'bps']) {
      expect(await freehold('create', word, '--help'), err).to.equal(0)
      expect(out).to.include('  freehold create blueprints/sources --boundary ID')
    }
    expect(await freehold('create', 'deploys', '--help'), err).to.equal(0)
    expect(out).to.include('The platform makes deploys itself. To have one made:\n  freehold call POST /boundaries/')
    expect(await freehold('kinds', 'zebra')).to.equal(2)
  })

  it('state the rule for names in the help of create', async () => {
    for (const [word, least, more] of [
      ['osa', 3, '; it must be unique on the platform'],
      ['vc', 1, ''],
      ['resourcegroup', 1, ''],
    ] as const) {
      expect(await freehold('create', word, '--help'), err).to.equal(0)
      const rule = `lower-case letters, digits and hyphens and begin and end with a letter or digit${more}.`
      expect(out).to.include(`\n\nNAME must have ${least} to 52 ${rule}\n\n`)
    }
    // The platform generates its id.
    expect(await freehold('create', 'boundary', '--help'), err).to.equal(0)
    expect(out).to.not.include('NAME must')
  })

  it('reject to wait for a status that the kind does not have', async () => {
    const words = ['wait', 'vc', 'products', '-b', BOUNDARY, '-g', 'shop']
    expect(await freehold(...words, '--for', 'Stoped')).to.equal(2)
    expect(err).to.include('did you mean "Stopped"?')
  })
})
