import { expect } from 'chai'
import { BuildRefusal, type SourceFiles } from './files.ts'
import { planBuild } from './plan.ts'

type Asked = Partial<Parameters<typeof planBuild>[1]>

function sourceOf(files: Record<string, string>): SourceFiles {
  const folders = Object.keys(files).flatMap((path) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, at, all) => `${all.slice(0, at + 1).join('/')}/`),
  )
  return { paths: new Set([...Object.keys(files), ...folders]), text: (path) => files[path] }
}

const plan = (files: Record<string, string>, asked: Asked = {}) =>
  planBuild(sourceOf(files), { purpose: 'Service', port: 8080, environmentVersion: '', mirrors: {}, ...asked })

const pkg = (more: object = {}) => JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' }, ...more })
const NODE = { 'package.json': pkg(), 'package-lock.json': '{}', 'server.js': '' }

describe('what a source is built with', () => {
  type Case = [sentence: string, files: Record<string, string>, asked: Asked, expected: string]
  const cases: Case[] = [
    ['a package.json is Node.js', NODE, {}, 'nodejs 24'],
    ['a version that it asks for', { ...NODE, '.nvmrc': 'v22\n' }, {}, 'nodejs 22'],
    [
      'a version of its engines',
      { 'package.json': pkg({ engines: { node: '^22' } }), 'server.js': '' },
      {},
      'nodejs 22',
    ],
    ['what is asked for counts more', { ...NODE, '.nvmrc': '22' }, { runtimeVersion: '26' }, 'nodejs 26'],
    ['its own Dockerfile comes first', { ...NODE, Dockerfile: '' }, {}, 'dockerfile'],
    ['but not if a runtime is asked for', { ...NODE, Dockerfile: '' }, { runtime: 'nodejs' }, 'nodejs 24'],
    ['a Dockerfile elsewhere, if it is named', NODE, { dockerfilePath: '/deploy/Dockerfile' }, 'dockerfile'],
    ['requirements.txt is Python', { 'requirements.txt': '', 'main.py': '' }, {}, 'python 3.13'],
    [
      'a version of pyproject.toml',
      { 'pyproject.toml': 'requires-python = ">=3.14"', 'uv.lock': '', 'app.py': '' },
      {},
      'python 3.14',
    ],
    ['go.mod is Go', { 'go.mod': 'module x\n\ngo 1.24\n', 'main.go': '' }, {}, 'go 1.26'],
    ['pom.xml is Java', { 'pom.xml': '<java.version>25</java.version>' }, {}, 'java 25'],
    ['a project file is .NET', { 'Shop.csproj': '<TargetFramework>net8.0</TargetFramework>' }, {}, 'dotnet 8.0'],
    ['composer.json is PHP', { 'composer.json': '{}' }, {}, 'php 8.4'],
    ['a Gemfile is Ruby', { Gemfile: 'ruby "~> 3.3.0"', 'Gemfile.lock': '' }, {}, 'ruby 3.3'],
    ['Cargo.toml is Rust', { 'Cargo.toml': 'name = "shop"' }, {}, 'rust 1'],
    ['an index.html alone is served as it is', { 'index.html': '' }, {}, 'static 1'],
    ['a site that is built is built with Node.js', NODE, { purpose: 'Site' }, 'nodejs 24'],
    ['a site of plain files is not', { 'index.html': '' }, { purpose: 'Site' }, 'static 1'],
    ['a site is built even beside a Dockerfile', { 'index.html': '', Dockerfile: '' }, { purpose: 'Site' }, 'static 1'],
    ['nothing that we know is refused', { 'README.md': '' }, {}, 'refused: The runtime cannot be detected'],
    ['an unknown version is refused', { ...NODE, '.nvmrc': '16' }, {}, 'refused: The source needs Node.js 16'],
    ['an unknown runtime is refused', NODE, { runtime: 'cobol' }, 'refused: There is no runtime "cobol"'],
    ['a package.json that is none is refused', { 'package.json': '[' }, {}, 'refused: package.json is not a JSON'],
    ['what nobody can start is refused', { 'package.json': '{}' }, {}, 'refused: package.json has no start script'],
    ['unless a command says how', { 'package.json': '{}' }, { startCommand: 'node x.js' }, 'nodejs 24'],
    ['Python without a beginning is refused', { 'requirements.txt': '' }, {}, 'refused: There is no Procfile'],
    [
      'several programs of Go are refused',
      { 'go.mod': '', 'cmd/a/main.go': '', 'cmd/b/main.go': '' },
      {},
      'refused: cmd contains several programs',
    ],
    [
      'an image that is none is refused',
      NODE,
      { builderImage: 'node\nRUN evil' },
      'refused: builderImage "node RUN evil" is not the name',
    ],
  ]
  for (const [sentence, files, asked, expected] of cases) {
    it(sentence, () => {
      if (!expected.startsWith('refused: ')) {
        const { runtime, runtimeVersion } = plan(files, asked)
        expect([runtime, runtimeVersion].filter(Boolean).join(' ')).to.equal(expected)
        return
      }
      expect(() => plan(files, asked)).to.throw(BuildRefusal, expected.slice('refused: '.length))
    })
  }
})

describe('a Dockerfile that we write', () => {
  const lines = (files: Record<string, string>, asked: Asked = {}) => (plan(files, asked).dockerfile ?? '').split('\n')

  it('is one that a person can read', () => {
    expect(
      lines({ ...NODE, 'package.json': pkg({ scripts: { start: 'node server.js', build: 'tsc' } }) }),
    ).to.deep.equal([
      '# Node.js 24, set by package.json. Keep a copy as Dockerfile to change it.',
      'FROM docker.io/library/node:24-slim AS build',
      'WORKDIR /app',
      '# Installed again only when one of these changes.',
      'COPY package.json package-lock.json ./',
      'RUN npm ci --no-audit --no-fund',
      'COPY . .',
      'RUN npm run build',
      'RUN npm prune --omit=dev',
      '',
      'FROM docker.io/library/node:24-slim',
      'WORKDIR /app',
      'ENV PORT=8080 HOME=/tmp NODE_ENV=production',
      'COPY --from=build /app ./',
      'USER 65532:65532',
      'EXPOSE 8080',
      'CMD ["node","server.js"]',
      '',
    ])
  })

  type Case = [sentence: string, files: Record<string, string>, asked: Asked, expected: string]
  const cases: Case[] = [
    [
      'obeys the lock of pnpm',
      { 'package.json': pkg(), 'pnpm-lock.yaml': '' },
      {},
      'RUN corepack enable && pnpm install --frozen-lockfile',
    ],
    ['obeys the lock of yarn', { 'package.json': pkg(), 'yarn.lock': '' }, {}, 'RUN yarn install --frozen-lockfile'],
    [
      'obeys the lock of a newer yarn',
      { 'package.json': pkg(), 'yarn.lock': '', '.yarnrc.yml': '' },
      {},
      'RUN corepack enable && yarn install --immutable',
    ],
    [
      'says that there is no lock',
      { 'package.json': pkg() },
      {},
      '# There is no lock file: versions may differ from one build to the next.',
    ],
    [
      'obeys the lock of uv',
      { 'pyproject.toml': '', 'uv.lock': '', 'main.py': '' },
      {},
      'RUN uv sync --frozen --no-dev --no-install-project --active',
    ],
    [
      'obeys the lock of Poetry',
      { 'pyproject.toml': '', 'poetry.lock': '', 'main.py': '' },
      {},
      'RUN poetry install --only main --no-root --no-interaction',
    ],
    [
      'installs what a project of Python needs without a lock',
      { 'pyproject.toml': '[project]\ndependencies = ["flask"]\n', 'main.py': '' },
      {},
      'RUN uv pip install -r pyproject.toml',
    ],
    [
      'obeys the lock of Bundler',
      { Gemfile: '', 'Gemfile.lock': '' },
      {},
      'ENV BUNDLE_PATH=/bundle BUNDLE_WITHOUT=development:test BUNDLE_FROZEN=1',
    ],
    [
      'obeys the lock of Cargo',
      { 'Cargo.toml': 'name = "x"', 'Cargo.lock': '' },
      {},
      'RUN cargo build --release --locked && mkdir -p /out && cp target/release/x /out/server',
    ],
    [
      'obeys the lock of NuGet',
      { 'a.csproj': '', 'packages.lock.json': '{}' },
      {},
      'RUN dotnet restore --locked-mode a.csproj',
    ],
    [
      'builds the one program of a module',
      { 'go.mod': '', 'cmd/shop/main.go': '' },
      {},
      'RUN go build -trimpath -o /out/server ./cmd/shop',
    ],
    [
      'makes a module of Go files without one',
      { 'shop.go': 'package shop' },
      { runtime: 'go' },
      'RUN go mod init source && go mod tidy',
    ],
    [
      'lets a command build Java without a project',
      { 'Shop.java': '' },
      { runtime: 'java', buildCommand: 'sh build.sh' },
      'RUN sh build.sh',
    ],
    [
      'gives every command of Maven the mirror',
      { 'pom.xml': '' },
      { mirrors: { maven: 'https://m.example/maven/' } },
      'ENV MAVEN_ARGS="-s /tmp/settings.xml"',
    ],
    [
      'takes packages from a mirror',
      NODE,
      { mirrors: { npm: 'https://m.example/npm/' } },
      'ENV npm_config_registry=https://m.example/npm/ npm_config_replace_registry_host=always',
    ],
    [
      'takes pnpm and its packages from a mirror',
      { 'package.json': pkg(), 'pnpm-lock.yaml': '' },
      { mirrors: { npm: 'https://m.example/npm/' } },
      'ENV COREPACK_NPM_REGISTRY=https://m.example/npm YARN_NPM_REGISTRY_SERVER=https://m.example/npm',
    ],
    ['runs the start command by a shell', NODE, { startCommand: 'node a.js $X' }, 'CMD ["sh","-c","node a.js $X"]'],
    [
      'runs what a Procfile says',
      { ...NODE, 'package.json': '{}', Procfile: 'web: node b.js' },
      {},
      'CMD ["sh","-c","node b.js"]',
    ],
    [
      'keeps variables out of the image',
      NODE,
      { buildCommand: 'make', environmentVersion: 'abc' },
      'RUN --mount=type=secret,id=environment,mode=0444 . /run/secrets/environment && make',
    ],
    [
      'keeps a command of several lines one instruction',
      NODE,
      { buildCommand: 'a\nUSER root' },
      'RUN ["sh","-c","a\\nUSER root"]',
    ],
    ['keeps a command that goes on one instruction', NODE, { buildCommand: 'a \\' }, 'RUN ["sh","-c","a \\\\"]'],
    [
      'takes the folder of a site',
      NODE,
      { purpose: 'Site', outputPath: '/build' },
      'COPY --from=build ["/app/build/","/site/"]',
    ],
    ['serves files as they are', { 'index.html': '' }, {}, 'COPY ["./","/site/"]'],
    [
      'serves files as they are beside a package.json',
      { 'index.html': '', 'package.json': pkg() },
      { runtime: 'static' },
      'COPY ["./","/site/"]',
    ],
    [
      'brings the managers of packages that an image of Node.js lacks',
      { 'package.json': pkg(), 'pnpm-lock.yaml': '' },
      { runtimeVersion: '26' },
      'RUN command -v corepack || npm install --global corepack',
    ],
    [
      'brings the yarn that an image of Node.js lacks',
      { 'package.json': pkg(), 'yarn.lock': '' },
      { runtimeVersion: '26' },
      'RUN command -v yarn || npm install --global yarn',
    ],
    [
      'takes no other process of a Procfile for that of web',
      { 'package.json': '{}', 'server.js': '', Procfile: 'web:\nworker: node b.js' },
      {},
      'CMD ["node","server.js"]',
    ],
    [
      'keeps a command that ends in a backslash and a blank one instruction',
      NODE,
      { buildCommand: 'a \\ ' },
      'RUN ["sh","-c","a \\\\ "]',
    ],
    ['finds the one archive of Maven', { 'pom.xml': '' }, {}, 'COPY --from=build /out/ ./'],
    [
      "serves PHP's public folder",
      { 'composer.json': '{}', 'public/index.php': '' },
      {},
      'CMD ["php","-S","0.0.0.0:8080","-t","public"]',
    ],
  ]
  for (const [sentence, files, asked, expected] of cases) {
    it(sentence, () => expect(lines(files, asked)).to.include(expected))
  }

  it('never runs as root, whatever the runtime', () => {
    const all = [NODE, { 'go.mod': '' }, { 'pom.xml': '' }, { 'a.csproj': '' }, { Gemfile: '' }, { 'index.html': '' }]
    for (const files of all) expect(lines(files as Record<string, string>)).to.include('USER 65532:65532')
  })

  it('installs nothing for Node.js where nothing describes what', () => {
    const all = lines({ 'index.mjs': '' }, { runtime: 'nodejs', startCommand: 'exec node index.mjs' })
    expect(all).to.include('COPY . .').and.to.include('CMD ["sh","-c","exec node index.mjs"]')
    expect(all.filter((line) => /npm|package\.json/.test(line))).to.deep.equal([])
  })

  const needingMore: [sentence: string, files: Record<string, string>, install: string][] = [
    [
      'scripts of an installation',
      { ...NODE, 'package.json': pkg({ scripts: { postinstall: 'prisma generate' } }) },
      'npm ci',
    ],
    ['packages beside it', { ...NODE, 'package.json': pkg({ dependencies: { own: 'file:./own' } }) }, 'npm ci'],
    ['patches of packages', { ...NODE, 'package.json': pkg({ pnpm: { patchedDependencies: {} } }) }, 'npm ci'],
    ['a yarn of its own', { 'package.json': pkg(), 'yarn.lock': '', '.yarn/releases/yarn.cjs': '' }, 'yarn install'],
    ['requirements in other files', { 'requirements.txt': '-r base.txt\n', 'main.py': '' }, 'pip install'],
    ['itself as a requirement', { 'requirements.txt': 'flask\n-e .\n', 'main.py': '' }, 'pip install'],
    [
      'a package of Python beside it',
      { 'pyproject.toml': 'own = { path = "own" }', 'uv.lock': '', 'main.py': '' },
      'uv sync',
    ],
    [
      'requirements of a project in other files',
      { 'pyproject.toml': '[project]\n[tool.setuptools.dynamic]\ndependencies = {file = ["r.txt"]}', 'main.py': '' },
      'uv pip install',
    ],
    ['a module beside it', { 'go.mod': 'replace example.com/own => ./own', 'main.go': '' }, 'go mod download'],
    ['a project beside it', { 'a.csproj': '<ProjectReference Include="own/own.csproj" />' }, 'dotnet restore'],
    ['a gem beside it', { Gemfile: "gem 'own', path: 'own'" }, 'bundle install'],
    ['a gem that it is', { Gemfile: 'gemspec' }, 'bundle install'],
    [
      'a package of PHP beside it',
      { 'composer.json': JSON.stringify({ repositories: [{ type: 'path', url: 'own' }] }) },
      'composer install',
    ],
  ]
  for (const [sentence, files, install] of needingMore) {
    it(`copies everything before it installs what needs ${sentence}`, () => {
      const found = lines(files)
      const at = found.findIndex((line) => line.startsWith(`RUN ${install}`))
      expect(at, found.join('\n')).to.be.above(found.indexOf('COPY . .'))
      expect(found.indexOf('COPY . .')).to.be.above(0)
    })
  }

  it('installs before it copies everything where hooks of Git alone are set up', () => {
    const found = lines({ ...NODE, 'package.json': pkg({ scripts: { prepare: 'husky', start: 'node server.js' } }) })
    expect(found.indexOf('COPY . .')).to.be.above(found.indexOf('RUN npm ci --no-audit --no-fund'))
  })

  it('fetches nothing for Maven before all modules are there', () => {
    const found = lines({ 'pom.xml': '<modules><module>own</module></modules>' })
    expect(found.filter((line) => line.includes('go-offline'))).to.deep.equal([])
    expect(lines({ 'pom.xml': '' }).filter((line) => line.includes('go-offline'))).to.have.length(1)
  })

  it('restores a project of .NET by what else says how', () => {
    const beside = ['Directory.Packages.props', 'Directory.Build.props', 'NuGet.Config', 'global.json']
    const found = lines({ 'a.csproj': '', ...Object.fromEntries(beside.map((path) => [path, ''])) })
    const copied = found.find((line) => line.startsWith('COPY a.csproj'))?.split(' ')
    expect(copied).to.include.members(beside)
  })

  it('copies nothing that is not there', () => {
    for (const runtime of ['go', 'ruby', 'python'])
      for (const line of lines({ 'server.py': '' }, { runtime, startCommand: 'x' }))
        expect(line).to.not.match(/^COPY {2}/)
  })

  it('copies all of a workspace before it installs', () => {
    const found = lines({ ...NODE, 'package.json': pkg({ workspaces: ['a'] }) })
    expect(found.indexOf('COPY . .')).to.be.lessThan(found.indexOf('RUN npm ci --no-audit --no-fund'))
  })
})

describe('the image of a site', () => {
  it('holds a configuration of its own, and the start that takes the one of the platform', () => {
    const { server, dockerfile } = plan({ 'index.html': '' }, { purpose: 'Site' })
    expect(Object.keys(server)).to.deep.equal(['site.conf', 'site.sh'])
    expect(server['site.conf']).to.include('listen ')
    expect(dockerfile).to.include('CMD ["/bin/sh", "/etc/nginx/site.sh"]')
  })
})
