import { expect } from 'chai'
import { BuildRefusal, type SourceFiles } from './files.ts'
import { planBuild } from './plan.ts'

type PlanRequest = Partial<Parameters<typeof planBuild>[1]>

function sourceOf(files: Record<string, string>): SourceFiles {
  const folders = Object.keys(files).flatMap((path) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, at, all) => `${all.slice(0, at + 1).join('/')}/`),
  )
  return { paths: new Set([...Object.keys(files), ...folders]), text: (path) => files[path] }
}

const plan = (files: Record<string, string>, request: PlanRequest = {}) =>
  planBuild(sourceOf(files), { purpose: 'Service', port: 8080, environmentVersion: '', mirrors: {}, ...request })

const pkg = (more: object = {}) => JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' }, ...more })
const NODE = { 'package.json': pkg(), 'package-lock.json': '{}', 'server.js': '' }

describe('planBuild, choice of the runtime', () => {
  type Case = [sentence: string, files: Record<string, string>, request: PlanRequest, expected: string]
  const cases: Case[] = [
    ['builds a package.json with Node.js', NODE, {}, 'nodejs 24'],
    ['uses the version of .nvmrc', { ...NODE, '.nvmrc': 'v22\n' }, {}, 'nodejs 22'],
    [
      'uses the version of "engines"',
      { 'package.json': pkg({ engines: { node: '^22' } }), 'server.js': '' },
      {},
      'nodejs 22',
    ],
    ['prefers the requested version', { ...NODE, '.nvmrc': '22' }, { runtimeVersion: '26' }, 'nodejs 26'],
    ['prefers the Dockerfile of the source', { ...NODE, Dockerfile: '' }, {}, 'dockerfile'],
    ['prefers a requested runtime to a Dockerfile', { ...NODE, Dockerfile: '' }, { runtime: 'nodejs' }, 'nodejs 24'],
    ['uses a Dockerfile at the requested path', NODE, { dockerfilePath: '/deploy/Dockerfile' }, 'dockerfile'],
    ['builds requirements.txt with Python', { 'requirements.txt': '', 'main.py': '' }, {}, 'python 3.13'],
    [
      'uses the version of pyproject.toml',
      { 'pyproject.toml': 'requires-python = ">=3.14"', 'uv.lock': '', 'app.py': '' },
      {},
      'python 3.14',
    ],
    ['builds go.mod with Go', { 'go.mod': 'module x\n\ngo 1.24\n', 'main.go': '' }, {}, 'go 1.26'],
    ['builds pom.xml with Java', { 'pom.xml': '<java.version>25</java.version>' }, {}, 'java 25'],
    [
      'builds a project file with .NET',
      { 'Shop.csproj': '<TargetFramework>net8.0</TargetFramework>' },
      {},
      'dotnet 8.0',
    ],
    ['builds composer.json with PHP', { 'composer.json': '{}' }, {}, 'php 8.4'],
    ['builds a Gemfile with Ruby', { Gemfile: 'ruby "~> 3.3.0"', 'Gemfile.lock': '' }, {}, 'ruby 3.3'],
    ['builds Cargo.toml with Rust', { 'Cargo.toml': 'name = "shop"' }, {}, 'rust 1'],
    ['serves an index.html without a build', { 'index.html': '' }, {}, 'static 1'],
    ['builds a site with a package.json with Node.js', NODE, { purpose: 'Site' }, 'nodejs 24'],
    ['serves a site of plain files without a build', { 'index.html': '' }, { purpose: 'Site' }, 'static 1'],
    ['ignores the Dockerfile of a site', { 'index.html': '', Dockerfile: '' }, { purpose: 'Site' }, 'static 1'],
    ['rejects a source of no known runtime', { 'README.md': '' }, {}, 'refused: The runtime cannot be detected'],
    ['rejects an unsupported version', { ...NODE, '.nvmrc': '16' }, {}, 'refused: The source needs Node.js 16'],
    ['rejects an unknown runtime', NODE, { runtime: 'cobol' }, 'refused: There is no runtime "cobol"'],
    ['rejects an invalid package.json', { 'package.json': '[' }, {}, 'refused: package.json is not a JSON'],
    [
      'rejects a package.json without a start script',
      { 'package.json': '{}' },
      {},
      'refused: package.json has no start script',
    ],
    [
      'accepts a package.json without a start script if there is a start command',
      { 'package.json': '{}' },
      { startCommand: 'node x.js' },
      'nodejs 24',
    ],
    ['rejects Python without an entry point', { 'requirements.txt': '' }, {}, 'refused: There is no Procfile'],
    [
      'rejects several Go programs',
      { 'go.mod': '', 'cmd/a/main.go': '', 'cmd/b/main.go': '' },
      {},
      'refused: cmd contains several programs',
    ],
    [
      'rejects an invalid image name',
      NODE,
      { builderImage: 'node\nRUN evil' },
      'refused: builderImage "node RUN evil" is not the name',
    ],
  ]
  for (const [sentence, files, request, expected] of cases) {
    it(sentence, () => {
      if (!expected.startsWith('refused: ')) {
        const { runtime, runtimeVersion } = plan(files, request)
        expect([runtime, runtimeVersion].filter(Boolean).join(' ')).to.equal(expected)
        return
      }
      expect(() => plan(files, request)).to.throw(BuildRefusal, expected.slice('refused: '.length))
    })
  }
})

describe('planBuild, generated Dockerfile', () => {
  const lines = (files: Record<string, string>, request: PlanRequest = {}) =>
    (plan(files, request).dockerfile ?? '').split('\n')

  it('is readable and commented', () => {
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

  type Case = [sentence: string, files: Record<string, string>, request: PlanRequest, expected: string]
  const cases: Case[] = [
    [
      'respects pnpm-lock.yaml',
      { 'package.json': pkg(), 'pnpm-lock.yaml': '' },
      {},
      'RUN corepack enable && pnpm install --frozen-lockfile',
    ],
    ['respects yarn.lock', { 'package.json': pkg(), 'yarn.lock': '' }, {}, 'RUN yarn install --frozen-lockfile'],
    [
      'respects yarn.lock of Yarn 2 and later',
      { 'package.json': pkg(), 'yarn.lock': '', '.yarnrc.yml': '' },
      {},
      'RUN corepack enable && yarn install --immutable',
    ],
    [
      'mentions a missing lock file',
      { 'package.json': pkg() },
      {},
      '# There is no lock file: versions may differ from one build to the next.',
    ],
    [
      'respects uv.lock',
      { 'pyproject.toml': '', 'uv.lock': '', 'main.py': '' },
      {},
      'RUN uv sync --frozen --no-dev --no-install-project --active',
    ],
    [
      'respects poetry.lock',
      { 'pyproject.toml': '', 'poetry.lock': '', 'main.py': '' },
      {},
      'RUN poetry install --only main --no-root --no-interaction',
    ],
    [
      'installs the dependencies of a Python project without a lock file',
      { 'pyproject.toml': '[project]\ndependencies = ["flask"]\n', 'main.py': '' },
      {},
      'RUN uv pip install -r pyproject.toml',
    ],
    [
      'respects Gemfile.lock',
      { Gemfile: '', 'Gemfile.lock': '' },
      {},
      'ENV BUNDLE_PATH=/bundle BUNDLE_WITHOUT=development:test BUNDLE_FROZEN=1',
    ],
    [
      'respects Cargo.lock',
      { 'Cargo.toml': 'name = "x"', 'Cargo.lock': '' },
      {},
      'RUN cargo build --release --locked && mkdir -p /out && cp target/release/x /out/server',
    ],
    [
      'respects packages.lock.json',
      { 'a.csproj': '', 'packages.lock.json': '{}' },
      {},
      'RUN dotnet restore --locked-mode a.csproj',
    ],
    [
      'builds the only program of a Go module',
      { 'go.mod': '', 'cmd/shop/main.go': '' },
      {},
      'RUN go build -trimpath -o /out/server ./cmd/shop',
    ],
    [
      'creates a module for Go files without one',
      { 'shop.go': 'package shop' },
      { runtime: 'go' },
      'RUN go mod init source && go mod tidy',
    ],
    [
      'builds Java without a project by the build command',
      { 'Shop.java': '' },
      { runtime: 'java', buildCommand: 'sh build.sh' },
      'RUN sh build.sh',
    ],
    [
      'sets the Maven mirror for every command',
      { 'pom.xml': '' },
      { mirrors: { maven: 'https://m.example/maven/' } },
      'ENV MAVEN_ARGS="-s /tmp/settings.xml"',
    ],
    [
      'sets the npm mirror',
      NODE,
      { mirrors: { npm: 'https://m.example/npm/' } },
      'ENV npm_config_registry=https://m.example/npm/ npm_config_replace_registry_host=always',
    ],
    [
      'sets the mirror for pnpm and Corepack',
      { 'package.json': pkg(), 'pnpm-lock.yaml': '' },
      { mirrors: { npm: 'https://m.example/npm/' } },
      'ENV COREPACK_NPM_REGISTRY=https://m.example/npm YARN_NPM_REGISTRY_SERVER=https://m.example/npm',
    ],
    ['runs the start command in a shell', NODE, { startCommand: 'node a.js $X' }, 'CMD ["sh","-c","node a.js $X"]'],
    [
      'runs the web process of a Procfile',
      { ...NODE, 'package.json': '{}', Procfile: 'web: node b.js' },
      {},
      'CMD ["sh","-c","node b.js"]',
    ],
    [
      'passes variables as a secret mount, not into the image',
      NODE,
      { buildCommand: 'make', environmentVersion: 'abc' },
      'RUN --mount=type=secret,id=environment,mode=0444 . /run/secrets/environment && make',
    ],
    [
      'keeps a build command with a line break in one instruction',
      NODE,
      { buildCommand: 'a\nUSER root' },
      'RUN ["sh","-c","a\\nUSER root"]',
    ],
    [
      'keeps a build command that ends in a backslash in one instruction',
      NODE,
      { buildCommand: 'a \\' },
      'RUN ["sh","-c","a \\\\"]',
    ],
    [
      'copies the output folder of a site',
      NODE,
      { purpose: 'Site', outputPath: '/build' },
      'COPY --from=build ["/app/build/","/site/"]',
    ],
    ['copies static files', { 'index.html': '' }, {}, 'COPY ["./","/site/"]'],
    [
      'copies static files beside a package.json',
      { 'index.html': '', 'package.json': pkg() },
      { runtime: 'static' },
      'COPY ["./","/site/"]',
    ],
    [
      'installs Corepack if the Node.js image lacks it',
      { 'package.json': pkg(), 'pnpm-lock.yaml': '' },
      { runtimeVersion: '26' },
      'RUN command -v corepack || npm install --global corepack',
    ],
    [
      'installs Yarn if the Node.js image lacks it',
      { 'package.json': pkg(), 'yarn.lock': '' },
      { runtimeVersion: '26' },
      'RUN command -v yarn || npm install --global yarn',
    ],
    [
      'ignores other processes of a Procfile',
      { 'package.json': '{}', 'server.js': '', Procfile: 'web:\nworker: node b.js' },
      {},
      'CMD ["node","server.js"]',
    ],
    [
      'keeps a build command that ends in a backslash and a space in one instruction',
      NODE,
      { buildCommand: 'a \\ ' },
      'RUN ["sh","-c","a \\\\ "]',
    ],
    ['copies the only archive of Maven', { 'pom.xml': '' }, {}, 'COPY --from=build /out/ ./'],
    [
      'serves the public folder of PHP',
      { 'composer.json': '{}', 'public/index.php': '' },
      {},
      'CMD ["php","-S","0.0.0.0:8080","-t","public"]',
    ],
  ]
  for (const [sentence, files, request, expected] of cases) {
    it(sentence, () => expect(lines(files, request)).to.include(expected))
  }

  it('never runs as root', () => {
    const all = [NODE, { 'go.mod': '' }, { 'pom.xml': '' }, { 'a.csproj': '' }, { Gemfile: '' }, { 'index.html': '' }]
    for (const files of all) expect(lines(files as Record<string, string>)).to.include('USER 65532:65532')
  })

  it('installs nothing for Node.js without a package.json', () => {
    const all = lines({ 'index.mjs': '' }, { runtime: 'nodejs', startCommand: 'exec node index.mjs' })
    expect(all).to.include('COPY . .').and.to.include('CMD ["sh","-c","exec node index.mjs"]')
    expect(all.filter((line) => /npm|package\.json/.test(line))).to.deep.equal([])
  })

  const needingMore: [sentence: string, files: Record<string, string>, install: string][] = [
    ['an install script', { ...NODE, 'package.json': pkg({ scripts: { postinstall: 'prisma generate' } }) }, 'npm ci'],
    ['a local package', { ...NODE, 'package.json': pkg({ dependencies: { own: 'file:./own' } }) }, 'npm ci'],
    ['patches of packages', { ...NODE, 'package.json': pkg({ pnpm: { patchedDependencies: {} } }) }, 'npm ci'],
    [
      'a Yarn release in the repository',
      { 'package.json': pkg(), 'yarn.lock': '', '.yarn/releases/yarn.cjs': '' },
      'yarn install',
    ],
    ['requirements in other files', { 'requirements.txt': '-r base.txt\n', 'main.py': '' }, 'pip install'],
    ['the source itself as a requirement', { 'requirements.txt': 'flask\n-e .\n', 'main.py': '' }, 'pip install'],
    ['a local Python package', { 'pyproject.toml': 'own = { path = "own" }', 'uv.lock': '', 'main.py': '' }, 'uv sync'],
    [
      'dynamic requirements in other files',
      { 'pyproject.toml': '[project]\n[tool.setuptools.dynamic]\ndependencies = {file = ["r.txt"]}', 'main.py': '' },
      'uv pip install',
    ],
    ['a local Go module', { 'go.mod': 'replace example.com/own => ./own', 'main.go': '' }, 'go mod download'],
    ['a local .NET project', { 'a.csproj': '<ProjectReference Include="own/own.csproj" />' }, 'dotnet restore'],
    ['a local gem', { Gemfile: "gem 'own', path: 'own'" }, 'bundle install'],
    ['a gemspec', { Gemfile: 'gemspec' }, 'bundle install'],
    [
      'a local PHP package',
      { 'composer.json': JSON.stringify({ repositories: [{ type: 'path', url: 'own' }] }) },
      'composer install',
    ],
  ]
  for (const [sentence, files, install] of needingMore) {
    it(`copies all files before it installs ${sentence}`, () => {
      const found = lines(files)
      const at = found.findIndex((line) => line.startsWith(`RUN ${install}`))
      expect(at, found.join('\n')).to.be.above(found.indexOf('COPY . .'))
      expect(found.indexOf('COPY . .')).to.be.above(0)
    })
  }

  it('copies all files after the install if only Git hooks are prepared', () => {
    const found = lines({ ...NODE, 'package.json': pkg({ scripts: { prepare: 'husky', start: 'node server.js' } }) })
    expect(found.indexOf('COPY . .')).to.be.above(found.indexOf('RUN npm ci --no-audit --no-fund'))
  })

  it('does not prefetch for Maven if the project has modules', () => {
    const found = lines({ 'pom.xml': '<modules><module>own</module></modules>' })
    expect(found.filter((line) => line.includes('go-offline'))).to.deep.equal([])
    expect(lines({ 'pom.xml': '' }).filter((line) => line.includes('go-offline'))).to.have.length(1)
  })

  it('copies the files that configure a .NET restore', () => {
    const beside = ['Directory.Packages.props', 'Directory.Build.props', 'NuGet.Config', 'global.json']
    const found = lines({ 'a.csproj': '', ...Object.fromEntries(beside.map((path) => [path, ''])) })
    const copied = found.find((line) => line.startsWith('COPY a.csproj'))?.split(' ')
    expect(copied).to.include.members(beside)
  })

  it('copies no missing files', () => {
    for (const runtime of ['go', 'ruby', 'python'])
      for (const line of lines({ 'server.py': '' }, { runtime, startCommand: 'x' }))
        expect(line).to.not.match(/^COPY {2}/)
  })

  it('copies all files of a workspace before it installs', () => {
    const found = lines({ ...NODE, 'package.json': pkg({ workspaces: ['a'] }) })
    expect(found.indexOf('COPY . .')).to.be.lessThan(found.indexOf('RUN npm ci --no-audit --no-fund'))
  })
})

describe('planBuild, image of a site', () => {
  it("contains its own nginx configuration and the script that starts with the platform's", () => {
    const { server, dockerfile } = plan({ 'index.html': '' }, { purpose: 'Site' })
    expect(Object.keys(server)).to.deep.equal(['site.conf', 'site.sh'])
    expect(server['site.conf']).to.include('listen ')
    expect(dockerfile).to.include('CMD ["/bin/sh", "/etc/nginx/site.sh"]')
  })
})
