/** What we know how to build and run. The newest version that is neither new nor leaving is the default. */
export type Runtime = {
  readonly name: RuntimeName
  readonly title: string
  readonly description: string
  /** Names of files in the root of a source that tell it. */
  readonly detects: readonly string[]
  readonly defaultStartCommand: string
  readonly defaultPort: number
  readonly versions: readonly RuntimeVersion[]
}

export type RuntimeVersion = {
  readonly version: string
  readonly isDefault: boolean
  /** The day its makers stop mending it; undefined where they name none. */
  readonly endsAt: string | undefined
  readonly builderImage: string
  /** What the result is laid on. */
  readonly runImage: string
}

export type RuntimeName = 'nodejs' | 'python' | 'go' | 'java' | 'dotnet' | 'php' | 'ruby' | 'rust' | 'static'
export type RuntimeStatus = 'Supported' | 'Deprecated' | 'Ended'

type Images = { readonly build: (version: string) => string; readonly run: (version: string) => string }

/** @param ends by version, newest first; the first argument after it is the default */
function versionsOf(
  images: Images,
  byDefault: string,
  ends: Readonly<Record<string, string | undefined>>,
): RuntimeVersion[] {
  return Object.entries(ends).map(([text, endsAt]) => {
    const version = text.slice(1)
    const [builderImage, runImage] = [images.build(version), images.run(version)]
    return { version, isDefault: version === byDefault, endsAt, builderImage, runImage }
  })
}

const same = (name: (version: string) => string): Images => ({ build: name, run: name })
const DEBIAN = 'docker.io/library/debian:13-slim'

/** The `v` keeps the order in which they are written: numbers as keys would be sorted. */
export const RUNTIMES: readonly Runtime[] = [
  {
    name: 'nodejs',
    title: 'Node.js',
    description: 'npm, yarn or pnpm with the lock file of the project; its build script if there is one.',
    detects: ['package.json'],
    defaultStartCommand: 'npm start',
    defaultPort: 8080,
    versions: versionsOf(
      same((version) => `docker.io/library/node:${version}-slim`),
      '24',
      {
        v26: '2029-04-30',
        v24: '2028-04-30',
        v22: '2027-04-30',
        v20: '2026-04-30',
      },
    ),
  },
  {
    name: 'python',
    title: 'Python',
    description: 'pip, uv, Poetry or Pipenv with the lock file of the project, in an environment of its own.',
    detects: ['requirements.txt', 'pyproject.toml', 'Pipfile.lock'],
    defaultStartCommand: 'python main.py',
    defaultPort: 8080,
    versions: versionsOf(
      same((version) => `docker.io/library/python:${version}-slim`),
      '3.13',
      {
        'v3.14': '2030-10-31',
        'v3.13': '2029-10-31',
        'v3.12': '2028-10-31',
        'v3.11': '2027-10-31',
        'v3.10': '2026-10-31',
      },
    ),
  },
  {
    name: 'go',
    title: 'Go',
    description: 'One static program, of the main package in the root or the only one in cmd.',
    detects: ['go.mod'],
    defaultStartCommand: '/app/server',
    defaultPort: 8080,
    versions: versionsOf({ build: (version) => `docker.io/library/golang:${version}`, run: () => DEBIAN }, '1.26', {
      'v1.26': undefined,
      'v1.25': '2027-02-28',
    }),
  },
  {
    name: 'java',
    title: 'Java',
    description: 'Maven or Gradle; the one runnable archive that they build.',
    detects: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
    defaultStartCommand: 'java -jar /app/app.jar',
    defaultPort: 8080,
    versions: versionsOf(
      {
        build: (version) => `docker.io/library/maven:3-eclipse-temurin-${version}`,
        run: (version) => `docker.io/library/eclipse-temurin:${version}-jre`,
      },
      '21',
      { v25: '2031-09-30', v21: '2029-12-31', v17: '2027-10-31' },
    ),
  },
  {
    name: 'dotnet',
    title: '.NET',
    description: 'The one project in the root, published for release.',
    detects: ['*.csproj', '*.fsproj'],
    defaultStartCommand: 'dotnet <project>.dll',
    defaultPort: 8080,
    versions: versionsOf(
      {
        build: (version) => `mcr.microsoft.com/dotnet/sdk:${version}`,
        run: (version) => `mcr.microsoft.com/dotnet/aspnet:${version}`,
      },
      '10.0',
      { 'v10.0': '2028-11-14', 'v9.0': '2026-11-10', 'v8.0': '2026-11-10' },
    ),
  },
  {
    name: 'php',
    title: 'PHP',
    description: "Composer with its lock file; PHP's own server, from public if that folder is there.",
    detects: ['composer.json', 'index.php'],
    defaultStartCommand: 'php -S 0.0.0.0:$PORT -t public',
    defaultPort: 8080,
    versions: versionsOf(
      same((version) => `docker.io/library/php:${version}-cli`),
      '8.4',
      {
        'v8.5': '2029-12-31',
        'v8.4': '2028-12-31',
        'v8.3': '2027-12-31',
        'v8.2': '2026-12-31',
      },
    ),
  },
  {
    name: 'ruby',
    title: 'Ruby',
    description: 'Bundler with its lock file.',
    detects: ['Gemfile'],
    defaultStartCommand: 'bundle exec rackup --host 0.0.0.0 --port $PORT',
    defaultPort: 8080,
    versions: versionsOf(
      {
        build: (version) => `docker.io/library/ruby:${version}`,
        run: (version) => `docker.io/library/ruby:${version}-slim`,
      },
      '3.4',
      { 'v3.4': '2028-03-31', 'v3.3': '2027-03-31' },
    ),
  },
  {
    name: 'rust',
    title: 'Rust',
    description: 'The one program of the package, built for release as its lock says.',
    detects: ['Cargo.toml'],
    defaultStartCommand: '/app/server',
    defaultPort: 8080,
    versions: versionsOf(
      { build: (version) => `docker.io/library/rust:${version}-slim-trixie`, run: () => DEBIAN },
      '1',
      {
        v1: undefined,
      },
    ),
  },
  {
    name: 'static',
    title: 'Static files',
    description: 'The files as they are, served by nginx.',
    detects: ['index.html'],
    defaultStartCommand: 'nginx',
    defaultPort: 8080,
    versions: versionsOf(
      same(() => 'docker.io/library/nginx:1-alpine-slim'),
      '1',
      { v1: undefined },
    ),
  },
]

const LEAVING_MILLISECONDS = 180 * 86_400_000

/** Half a year before its end a version is deprecated. */
export function statusOf({ endsAt }: Pick<RuntimeVersion, 'endsAt'>, now: number): RuntimeStatus {
  if (endsAt === undefined) return 'Supported'
  const left = Date.parse(endsAt) - now
  if (left < 0) return 'Ended'
  return left < LEAVING_MILLISECONDS ? 'Deprecated' : 'Supported'
}

export const runtimeNamed = (name: string): Runtime | undefined => RUNTIMES.find((runtime) => runtime.name === name)
