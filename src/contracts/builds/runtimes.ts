import { DAY_MS } from '../../core/clock.ts'

/** A language that the platform builds and runs. The default version is neither new nor about to end. */
export type Runtime = {
  readonly name: RuntimeName
  readonly title: string
  readonly description: string
  /** Names of files in the root of a source that indicate the runtime. */
  readonly detects: readonly string[]
  readonly defaultStartCommand: string
  readonly defaultPort: number
  readonly versions: readonly RuntimeVersion[]
}

export type RuntimeVersion = {
  readonly version: string
  readonly isDefault: boolean
  /** The last day of upstream support; undefined if none is announced. */
  readonly endsAt: string | undefined
  readonly builderImage: string
  /** The base image of the result. */
  readonly runImage: string
}

export type RuntimeName = 'nodejs' | 'python' | 'go' | 'java' | 'dotnet' | 'php' | 'ruby' | 'rust' | 'static'
export type RuntimeStatus = 'Supported' | 'Deprecated' | 'Ended'

type RuntimeDeclaration = Omit<Runtime, 'defaultPort' | 'versions'> & {
  /** The images to build in and to run on, with `*` for the version; one if both are the same. */
  readonly images: readonly [build: string, run?: string]
  /** The last day of upstream support of each version, newest first; empty if none is announced. */
  readonly ends: readonly `${string}: ${string}`[]
  readonly byDefault: string
}

function runtime({ images: [build, run = build], ends, byDefault, ...fields }: RuntimeDeclaration): Runtime {
  const versions = ends.map((each): RuntimeVersion => {
    const [version = '', endsAt] = each.split(': ')
    const [builderImage, runImage] = [build.replace('*', version), run.replace('*', version)]
    return { version, isDefault: version === byDefault, endsAt: endsAt || undefined, builderImage, runImage }
  })
  return { ...fields, defaultPort: 8080, versions }
}

const DEBIAN = 'docker.io/library/debian:13-slim'

export const RUNTIMES: readonly Runtime[] = [
  runtime({
    name: 'nodejs',
    title: 'Node.js',
    description: 'npm, yarn or pnpm with the lock file of the project; its build script if there is one.',
    detects: ['package.json'],
    defaultStartCommand: 'npm start',
    images: ['docker.io/library/node:*-slim'],
    ends: ['26: 2029-04-30', '24: 2028-04-30', '22: 2027-04-30', '20: 2026-04-30'],
    byDefault: '24',
  }),
  runtime({
    name: 'python',
    title: 'Python',
    description: 'pip, uv, Poetry or Pipenv with the lock file of the project, in an environment of its own.',
    detects: ['requirements.txt', 'pyproject.toml', 'Pipfile.lock'],
    defaultStartCommand: 'python main.py',
    images: ['docker.io/library/python:*-slim'],
    ends: ['3.14: 2030-10-31', '3.13: 2029-10-31', '3.12: 2028-10-31', '3.11: 2027-10-31', '3.10: 2026-10-31'],
    byDefault: '3.13',
  }),
  runtime({
    name: 'go',
    title: 'Go',
    description: 'One static program, of the main package in the root or the only one in cmd.',
    detects: ['go.mod'],
    defaultStartCommand: '/app/server',
    images: ['docker.io/library/golang:*', DEBIAN],
    ends: ['1.26: ', '1.25: 2027-02-28'],
    byDefault: '1.26',
  }),
  runtime({
    name: 'java',
    title: 'Java',
    description: 'Maven or Gradle; the one runnable archive that they build.',
    detects: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
    defaultStartCommand: 'java -jar /app/app.jar',
    images: ['docker.io/library/maven:3-eclipse-temurin-*', 'docker.io/library/eclipse-temurin:*-jre'],
    ends: ['25: 2031-09-30', '21: 2029-12-31', '17: 2027-10-31'],
    byDefault: '21',
  }),
  runtime({
    name: 'dotnet',
    title: '.NET',
    description: 'The one project in the root, published for release.',
    detects: ['*.csproj', '*.fsproj'],
    defaultStartCommand: 'dotnet <project>.dll',
    images: ['mcr.microsoft.com/dotnet/sdk:*', 'mcr.microsoft.com/dotnet/aspnet:*'],
    ends: ['10.0: 2028-11-14', '9.0: 2026-11-10', '8.0: 2026-11-10'],
    byDefault: '10.0',
  }),
  runtime({
    name: 'php',
    title: 'PHP',
    description: "Composer with its lock file; PHP's own server, from public if that folder is there.",
    detects: ['composer.json', 'index.php'],
    defaultStartCommand: 'php -S 0.0.0.0:$PORT -t public',
    images: ['docker.io/library/php:*-cli'],
    ends: ['8.5: 2029-12-31', '8.4: 2028-12-31', '8.3: 2027-12-31', '8.2: 2026-12-31'],
    byDefault: '8.4',
  }),
  runtime({
    name: 'ruby',
    title: 'Ruby',
    description: 'Bundler with its lock file.',
    detects: ['Gemfile'],
    defaultStartCommand: 'bundle exec rackup --host 0.0.0.0 --port $PORT',
    images: ['docker.io/library/ruby:*', 'docker.io/library/ruby:*-slim'],
    ends: ['3.4: 2028-03-31', '3.3: 2027-03-31'],
    byDefault: '3.4',
  }),
  runtime({
    name: 'rust',
    title: 'Rust',
    description: 'The one program of the package, built for release as its lock says.',
    detects: ['Cargo.toml'],
    defaultStartCommand: '/app/server',
    images: ['docker.io/library/rust:*-slim-trixie', DEBIAN],
    ends: ['1: '],
    byDefault: '1',
  }),
  runtime({
    name: 'static',
    title: 'Static files',
    description: 'The files as they are, served by nginx.',
    detects: ['index.html'],
    defaultStartCommand: 'nginx',
    images: ['docker.io/library/nginx:1-alpine-slim'],
    ends: ['1: '],
    byDefault: '1',
  }),
]

const DEPRECATION_PERIOD_MS = 180 * DAY_MS

/** A version is deprecated half a year before its end. */
export function statusOf({ endsAt }: Pick<RuntimeVersion, 'endsAt'>, now: number): RuntimeStatus {
  if (endsAt === undefined) return 'Supported'
  const left = Date.parse(endsAt) - now
  if (left < 0) return 'Ended'
  return left < DEPRECATION_PERIOD_MS ? 'Deprecated' : 'Supported'
}

export const runtimeNamed = (name: string): Runtime | undefined => RUNTIMES.find((runtime) => runtime.name === name)
