import type { BuildFailure } from '../../../src/contracts/builds/progress.ts'
import type { GitObjects, TreeEntry } from '../../make/gitObjects.ts'

/** A commit, or a request for one, that must be refused while it is fetched and checked. */
export type HostileTree = {
  readonly sentence: string
  /** The entries of the commit's root. */
  readonly tree: (git: GitObjects) => readonly TreeEntry[]
  readonly recipe?: Readonly<Record<string, unknown>>
  /** Replaces the repository's address and branch. */
  readonly source?: Readonly<{ url?: string; branch?: string; commit?: string }>
  readonly failure: BuildFailure
  readonly says: RegExp
}

type Files = Readonly<Record<string, string>>
const SECRET = '../../run/build/order.json'
const MIB = 1024 ** 2

/** Files in one folder; text that starts with `link to ` is a link. */
const LINK = 'link to '
const files =
  (given: Files): HostileTree['tree'] =>
  (git) =>
    Object.entries(given).map(([name, text]) =>
      text.startsWith(LINK) ? ['link', name, git.blob(text.slice(LINK.length))] : ['file', name, git.blob(text)],
    )
const nothing = files({ 'readme.txt': 'words' })

const GITS_OWN = /contains ".*", a path that leads out of it or belongs to git\.$/
const NAMES = [
  '..',
  '.',
  '.git',
  '.GIT',
  '.gIt',
  'a/../../canary.txt',
  '/tmp/canary.txt',
  '../canary.txt',
  './a',
  'a//b',
]
const LONG = /a path that is too deep or too long\.$/

/** Nested folders of this depth. */
function nested(git: GitObjects, depth: number, name: string, times = 1): readonly TreeEntry[] {
  let entries: readonly TreeEntry[] = [['file', 'f', git.blob('x')]]
  for (let level = 0; level < depth; level += 1) {
    const tree = git.tree(...entries)
    entries = Array.from({ length: times }, (_, at) => ['tree', `${name}${at}`, tree])
  }
  return entries
}

const COMMITS: readonly HostileTree[] = [
  ...NAMES.flatMap((name): HostileTree[] => [
    {
      sentence: `a file named ${name}`,
      tree: (git) => [['file', name, git.blob('x')]],
      failure: 'SourceRefused',
      says: GITS_OWN,
    },
    {
      sentence: `a folder named ${name} with a program in it`,
      tree: (git) => [
        ['tree', name, git.tree(['program', 'post-checkout', git.blob('#!/bin/sh\ntouch /tmp/canary.txt\n')])],
      ],
      failure: 'SourceRefused',
      says: GITS_OWN,
    },
    {
      sentence: `a link named ${name}, below a folder`,
      tree: (git) => [['tree', 'a', git.tree(['link', name, git.blob('b')])]],
      failure: 'SourceRefused',
      says: GITS_OWN,
    },
  ]),
  {
    sentence: 'a link that leads out and a folder of the same name',
    tree: (git) => [
      ['link', 'a', git.blob('../..')],
      ['tree', 'a', git.tree(['file', 'canary.txt', git.blob('x')])],
    ],
    failure: 'SourceRefused',
    says: /contains "a" twice/,
  },
  {
    sentence: 'ten levels of ten folders each',
    tree: (git) => nested(git, 10, 'd', 10),
    failure: 'SourceRefused',
    says: /more than 200000 files and folders/,
  },
  {
    sentence: 'the same file of 16 MiB two hundred times',
    tree: (git) => {
      const zeros = git.blob(Buffer.alloc(16 * MIB))
      return Array.from({ length: 200 }, (_, at) => ['file', `zeros${at}`, zeros] as const)
    },
    failure: 'SourceRefused',
    says: /longer than 2147483648 bytes/,
  },
  {
    sentence: 'two hundred nested folders',
    tree: (git) => nested(git, 200, 'd'),
    failure: 'SourceRefused',
    says: LONG,
  },
  {
    sentence: 'folders with a path that is too long',
    tree: (git) => nested(git, 20, 'n'.repeat(200)),
    failure: 'SourceRefused',
    says: LONG,
  },
  {
    sentence: 'a file with a name that is too long',
    tree: (git) => [['file', 'n'.repeat(256), git.blob('x')]],
    failure: 'SourceRefused',
    says: LONG,
  },
]

const NO_DOCKERFILE = /^There is no Dockerfile at ".*": check dockerfilePath\.$/
const UNTOLD = /^The runtime cannot be detected/
type Row = readonly [
  sentence: string,
  given: Files | HostileTree['tree'],
  recipe: NonNullable<HostileTree['recipe']>,
  failure: BuildFailure,
  says: RegExp,
]
const LOOKED_AT: readonly Row[] = [
  [
    'a Dockerfile that is a link to a credential',
    { Dockerfile: LINK + SECRET },
    { dockerfilePath: 'Dockerfile' },
    'NothingToBuild',
    NO_DOCKERFILE,
  ],
  ['a default Dockerfile that is a link', { Dockerfile: LINK + SECRET }, {}, 'NothingToBuild', UNTOLD],
  [
    'a Dockerfile below a link that leads out',
    { deploy: `${LINK}../../run/build` },
    { dockerfilePath: 'deploy/order.json' },
    'SourceRefused',
    /^dockerfilePath leads out of the source\.$/,
  ],
  [
    'a Dockerfile above the source',
    { a: '' },
    { dockerfilePath: '../../run/build/order.json' },
    'SourceRefused',
    /^dockerfilePath leads out of the source\.$/,
  ],
  [
    'a Dockerfile that is a folder',
    (git) => [['tree', 'Dockerfile', git.tree(['file', 'a', git.blob('x')])]],
    { dockerfilePath: 'Dockerfile' },
    'NothingToBuild',
    NO_DOCKERFILE,
  ],
  [
    'a Dockerfile that is a submodule',
    () => [['module', 'Dockerfile', '1'.repeat(40)]],
    { dockerfilePath: 'Dockerfile' },
    'NothingToBuild',
    NO_DOCKERFILE,
  ],
  [
    'a Dockerfile of 2 MiB',
    { Dockerfile: `FROM scratch\n${'# x\n'.repeat(MIB / 2)}` },
    {},
    'NothingToBuild',
    /longer than 1048576 bytes/,
  ],
  [
    'a Dockerfile path with hidden characters',
    { a: '' },
    { dockerfilePath: 'a\u202e\u001b[2Jb' },
    'NothingToBuild',
    NO_DOCKERFILE,
  ],
  ['a package.json that is a link to a credential', { 'package.json': LINK + SECRET }, {}, 'NothingToBuild', UNTOLD],
  [
    'a package.json that is not JSON',
    { 'package.json': '{"a": \u0000' },
    {},
    'NothingToBuild',
    /^package\.json is not a JSON object\.$/,
  ],
  ['a package.json that is a list', { 'package.json': '[]' }, {}, 'NothingToBuild', /not a JSON object/],
  [
    'a package.json of a million brackets',
    { 'package.json': '['.repeat(MIB) },
    {},
    'NothingToBuild',
    /not a JSON object/,
  ],
  [
    'a package.json of 2 MiB',
    { 'package.json': `{"a":"${'x'.repeat(2 * MIB)}"}` },
    {},
    'NothingToBuild',
    /^package\.json is too long to be read\.$/,
  ],
  [
    'a version of a million spaces',
    { 'package.json': JSON.stringify({ engines: { node: `1${' '.repeat(MIB / 2)}x` } }) },
    {},
    'NothingToBuild',
    /has over 256 characters/,
  ],
  [
    'a version with a line break',
    { 'package.json': JSON.stringify({ engines: { node: '1\n\u202e\u001b[2J9' } }) },
    {},
    'NothingToBuild',
    /^The source needs Node\.js 1 \[2J9/,
  ],
  [
    'an unknown version',
    { '.nvmrc': '999', 'package.json': '{}' },
    {},
    'NothingToBuild',
    /needs Node\.js 999, which is not among/,
  ],
  ['a project named like a command', { 'a;touch canary.csproj': '' }, {}, 'NothingToBuild', UNTOLD],
  ['a project named like a line of a Dockerfile', { 'a\nUSER root\n#.csproj': '' }, {}, 'NothingToBuild', UNTOLD],
  [
    'a chosen project named like a command',
    { '$(id).csproj': '' },
    { runtime: 'dotnet' },
    'NothingToBuild',
    /with a plain name/,
  ],
  [
    'an image with a line of a Dockerfile',
    { 'package.json': '{}', 'server.js': '' },
    { builderImage: 'node\nRUN id' },
    'NothingToBuild',
    /is not the name of an image/,
  ],
  ['the runtime __proto__', { a: '' }, { runtime: '__proto__' }, 'NothingToBuild', /no runtime "__proto__"/],
  [
    'a root above the source',
    { a: '' },
    { rootPath: '/../../run/build' },
    'SourceRefused',
    /^rootPath leads out of the source\.$/,
  ],
  [
    'a root that is a link that leads out',
    { root: `${LINK}../../run/build` },
    { rootPath: '/root' },
    'SourceRefused',
    /^rootPath leads out of the source\.$/,
  ],
  [
    'a root that is a link to /',
    { root: `${LINK}/` },
    { rootPath: '/root' },
    'SourceRefused',
    /^rootPath leads out of the source\.$/,
  ],
  [
    'a root below a link that leads out',
    { out: `${LINK}../..` },
    { rootPath: '/out/run' },
    'SourceRefused',
    /^rootPath leads out of the source\.$/,
  ],
  [
    'a root that is a link to itself',
    { root: `${LINK}root` },
    { rootPath: '/root' },
    'NothingToBuild',
    /no folder "\/root": check rootPath/,
  ],
  ['a root that is a file', { root: '' }, { rootPath: '/root' }, 'NothingToBuild', /is not a folder: check rootPath/],
  ['a root with control characters', { a: '' }, { rootPath: '/a\u0000\u202e' }, 'NothingToBuild', /check rootPath/],
  [
    'a file in the place of a generated one',
    { 'package.json': '{}', 'ours.mjs': 'x' },
    { files: { 'ours.mjs': 'ours' } },
    'SourceRefused',
    /"ours\.mjs", which only the platform may write/,
  ],
  [
    'a link in the place of a generated file',
    { 'package.json': '{}', 'ours.mjs': `${LINK}../../../canary.txt` },
    { files: { 'ours.mjs': 'ours' } },
    'SourceRefused',
    /"ours\.mjs", which only the platform may write/,
  ],
  [
    'a link in the place of a generated folder',
    { 'package.json': '{}', lib: `${LINK}../../..` },
    { files: { 'lib/new/ours.mjs': 'ours' } },
    'SourceRefused',
    /"lib\/new\/ours\.mjs", which the platform writes/,
  ],
  [
    'filters, attributes and submodules',
    {
      '.gitattributes': '* filter=evil diff=evil ident\n',
      '.gitconfig': '[filter "evil"]\n\tsmudge = touch /tmp/canary.txt\n',
      '.gitmodules': '[submodule "a"]\n\tpath = a\n\turl = ext::sh -c touch% canary.txt\n',
    },
    {},
    'NothingToBuild',
    UNTOLD,
  ],
  ['attributes that are a link', { '.gitattributes': LINK + SECRET }, {}, 'NothingToBuild', UNTOLD],
]

const UNREACHABLE = 'SourceUnreachable'
const ASKED: readonly (readonly [string, NonNullable<HostileTree['source']>, RegExp])[] = [
  ['a URL that is a command', { url: 'ext::sh -c touch% /tmp/canary.txt' }, /not by "ext"\.$/],
  ['a URL of a local file', { url: 'file:///' }, /not by "file"\.$/],
  ['a URL that is an option', { url: '--upload-pack=touch canary.txt' }, /./],
  ['a host that is an option', { url: 'ssh://-oProxyCommand=id/a.git' }, /./],
  ['a branch that is an option', { branch: '--upload-pack=id' }, /./],
  ['a branch with a path out of refs/heads', { branch: '../../HEAD' }, /./],
  ['a branch with a line break', { branch: 'main\nmain' }, /./],
  ['a commit that is an option', { commit: '--upload-pack=id' }, /./],
  ['a missing commit', { commit: 'f'.repeat(40) }, /no longer has this commit/],
]

export const HOSTILE_TREES: readonly HostileTree[] = [
  ...COMMITS,
  ...LOOKED_AT.map(([sentence, given, recipe, failure, says]) => {
    const tree = typeof given === 'function' ? given : files(given)
    return { sentence, tree, recipe, failure, says }
  }),
  ...ASKED.map(
    ([sentence, source, says]) => ({ sentence, tree: nothing, source, failure: UNREACHABLE, says }) as const,
  ),
]
