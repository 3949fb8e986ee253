import type { BuildRecipe, BuildSettings } from '../../../src/contracts/builds/request.ts'

/** A source whose Dockerfile attempts something forbidden: if a command succeeds in it, the build succeeds too. */
export type HostileBuild = {
  readonly sentence: string
  /** A text that starts with `link to ` is a link. */
  readonly files: Readonly<Record<string, string>>
  readonly recipe?: Partial<BuildRecipe>
  readonly settings?: Partial<BuildSettings>
  /** Part of `<failure>: <message>`. */
  readonly says: RegExp
}

/** The surroundings of these builds: addresses that they must not reach, and the registry of their base images. */
export type Surroundings = {
  readonly apiServer: string
  readonly node: string
  readonly registry: string
  /** A repository of another boundary. */
  readonly foreign: string
}

const BASE = 'FROM library/node:24-slim\n'
const CLOSED = 9
const QUICK = { timeoutSeconds: 60 }

/** A program in one line that needs no escaping in a shell: double quotes are its only quotes. */
const script = (program: string) => `${BASE}RUN node -e '${program}'\n`
const connects = (host: string, port: number) =>
  script(
    `require("node:net").connect({host:"${host}",port:${port},timeout:3000})` +
      `.on("connect",()=>process.exit(0)).on("timeout",()=>process.exit(${CLOSED})).on("error",()=>process.exit(${CLOSED}))`,
  )
const reads = (path: string) => `${BASE}RUN cat ${path}\n`

const FAILED = /^CommandFailed: The command ".*" ended with exit code \d+: see the log of the build\.$/
const NOT_REACHED = new RegExp(`^CommandFailed: The command .* ended with exit code ${CLOSED}:`)
const NO_IMAGE = /^CommandFailed: The image \S+, which the build starts from, cannot be pulled/
const NOT_THERE = /^CommandFailed: The Dockerfile copies ".*", which does not exist\.$/
const UNREADABLE = /^NothingToBuild: The Dockerfile cannot be read: /

type Row = readonly [
  sentence: string,
  dockerfile: string,
  says: RegExp,
  more?: Omit<HostileBuild, 'sentence' | 'says' | 'files'>,
]

const network = ({ apiServer, node, registry }: Surroundings): readonly Row[] => [
  ['reaches the API server by its Service', connects(apiServer, 443), NOT_REACHED],
  ['reaches the API server by its node', connects(node, 6443), NOT_REACHED],
  ['reaches the kubelet', connects(node, 10250), NOT_REACHED],
  ['reaches the read-only port of the kubelet', connects(node, 10255), NOT_REACHED],
  ['reaches etcd', connects(node, 2379), NOT_REACHED],
  ['reaches the SSH port of the node', connects(node, 22), NOT_REACHED],
  ['reaches the metadata service of a cloud', connects('169.254.169.254', 80), NOT_REACHED],
  ['reaches the metadata service of a cloud by IPv6', connects('fd00:ec2::254', 80), NOT_REACHED],
  [
    'pushes into the registry',
    script(
      `fetch("http://${registry}/v2/library/node/blobs/uploads/",{method:"POST"})` +
        `.then(({status})=>process.exit(status<300?0:${CLOSED}))`,
    ),
    NOT_REACHED,
  ],
  ['reaches an external address', connects('1.1.1.1', 443), NOT_REACHED],
  [
    'adds a response of the kubelet',
    `FROM scratch\nADD https://${node}:10250/pods /\n`,
    /^(CommandFailed|TimedOut): /,
    { recipe: QUICK },
  ],
  ['starts from an image of an unknown registry', 'FROM stranger.example.test/image:1\n', NO_IMAGE],
  ['uses a frontend of an unknown registry', `# syntax=stranger.example.test/frontend:1\n${BASE}RUN true\n`, NO_IMAGE],
  [
    'copies from an image of an unknown registry',
    `${BASE}COPY --from=stranger.example.test/image:1 / /all\n`,
    NO_IMAGE,
  ],
  [
    'starts from an argument of two words',
    `ARG IMAGE="${registry}/a b"\nFROM $IMAGE\n`,
    /^(NothingToBuild|CommandFailed): /,
  ],
  ['starts from an argument without a value', 'ARG IMAGE\nFROM $IMAGE\n', /^NothingToBuild: .*not an image name\.$/],
]

const others = ({ registry, foreign }: Surroundings): readonly Row[] => [
  ['starts from an image of another boundary', `FROM ${registry}/${foreign}:latest\n`, NO_IMAGE],
  ['copies from an image of another boundary', `${BASE}COPY --from=${registry}/${foreign}:latest / /all\n`, NO_IMAGE],
  [
    'mounts an image of another boundary',
    `${BASE}RUN --mount=type=bind,from=${registry}/${foreign}:latest,target=/all ls /all\n`,
    NO_IMAGE,
  ],
  [
    'reads a cache mount of another boundary',
    `${BASE}RUN --mount=type=cache,id=${foreign},target=/kept test -n "$(ls -A /kept)"\n`,
    FAILED,
  ],
  ['uses the build cache of another boundary', `FROM ${registry}/${foreign}:cache-0000000000000000\n`, NO_IMAGE],
]

const secrets: readonly Row[] = [
  ...['order.json', 'git-credentials', 'private-key', 'pull.json', 'push.json'].map(
    (name): Row => [`reads ${name} of the build`, reads(`/run/build/${name}`), FAILED],
  ),
  ['reads the token of a service account', reads('/var/run/secrets/kubernetes.io/serviceaccount/token'), FAILED],
  ['reads the registry credentials of the builder', reads('/tmp/pull/config.json'), FAILED],
  [
    'mounts an unknown secret',
    `${BASE}RUN --mount=type=secret,id=git-credentials,required=true true\n`,
    /asks for the secret "git-credentials"/,
  ],
  [
    'mounts the keys of an SSH agent',
    `${BASE}RUN --mount=type=ssh,required=true true\n`,
    /asks for the SSH key "default"/,
  ],
  [
    'mounts a folder of the builder',
    `${BASE}RUN --mount=type=bind,source=../../run/build,target=/all test -e /all/order.json\n`,
    /^CommandFailed: /,
  ],
  ['copies from above its context', `FROM scratch\nCOPY ../../run/build/order.json /\n`, NOT_THERE],
  ['copies the target of a link', `${BASE}COPY out /out\nRUN cat /out\n`, /^CommandFailed: /],
]

const rights: readonly Row[] = [
  [
    'requests privileged mode',
    `${BASE}RUN --security=insecure id\n`,
    /asks for "security\.insecure", a privilege on its node/,
  ],
  [
    'requests the network of the node',
    `${BASE}RUN --network=host id\n`,
    /asks for "network\.host", a privilege on its node/,
  ],
  ['creates a block device', `${BASE}RUN mknod /disk b 8 0\n`, FAILED],
  ['creates the memory device', `${BASE}RUN mknod /memory c 1 1\n`, FAILED],
  ['reads the memory of the node', reads('/dev/mem'), FAILED],
  ['writes a kernel setting', `${BASE}RUN echo 2 > /proc/sys/kernel/randomize_va_space\n`, FAILED],
  ['triggers sysrq', `${BASE}RUN echo h > /proc/sysrq-trigger\n`, FAILED],
  ['mounts the disk of the node', `${BASE}RUN mount /dev/sda /mnt\n`, FAILED],
  ['connects to containerd of the node', `${BASE}RUN test -S /run/containerd/containerd.sock\n`, FAILED],
]

const forms: readonly Row[] = [
  ['has a mount of an unknown type', `${BASE}RUN --mount=type=host,target=/all true\n`, UNREADABLE],
  ['has no stage', '# nothing\n', /^NothingToBuild: /],
  ['has a line of 70000 characters', `${BASE}LABEL a=${'x'.repeat(70_000)}\n`, UNREADABLE],
  ['has an unknown instruction', `${BASE}EVIL\n`, UNREADABLE],
  [
    'has stages in a cycle',
    'FROM scratch AS a\nCOPY --from=b / /\nFROM scratch AS b\nCOPY --from=a / /\n',
    /^(NothingToBuild|CommandFailed): /,
  ],
  ['has a trigger in a trigger', `${BASE}ONBUILD ONBUILD RUN id\n`, UNREADABLE],
  [
    'prints a forged success to its log',
    `${BASE}RUN echo '{"digest":"sha256:${'0'.repeat(64)}"}' | tee /dev/termination-log; exit 3\n`,
    /exit code 3/,
  ],
  ['prints control characters in its error', `${BASE}RUN printf 'a\\033[2J\\nb' >&2; exit 4\n`, /exit code 4/],
]

// Without limits, both succeed quickly.
const MORE_MEMORY = 'const kept=[];while(kept.length<48)kept.push(Buffer.alloc(64<<20,1))'
const FORKS = `
const depth = Number(process.argv[2])
const again = () => require('node:child_process').spawn(process.execPath, [__filename, String(depth - 1)])
if (depth > 0) for (let one = 0; one < 2; one += 1) again()
const held = Buffer.alloc(32 << 20, 1)
setTimeout(() => process.exit(held.length > 0 ? 0 : 1), 20_000)
`
const large: readonly Row[] = [
  ['allocates memory without limit', script(MORE_MEMORY), /^OutOfMemory: /],
  [
    'runs a fork bomb',
    `${BASE}COPY forks.js /\nRUN node /forks.js 6\n`,
    /^(OutOfMemory|TimedOut|CommandFailed): /,
    { recipe: QUICK },
  ],
  ['prints without end', `${BASE}RUN yes\n`, /^TimedOut: .*longer than allowed/, { recipe: QUICK }],
  ['never ends', `${BASE}RUN sleep 900\n`, /^TimedOut: .*longer than allowed/, { recipe: QUICK }],
  [
    'fills the disk',
    `${BASE}RUN dd if=/dev/zero of=/fill bs=1M count=2048 && sleep 300\n`,
    /^(OutOfDisk|TimedOut): /,
    { recipe: { timeoutSeconds: 150 }, settings: { diskLimit: '1Gi' } },
  ],
]

export function hostileBuilds(around: Surroundings): readonly HostileBuild[] {
  return [...network(around), ...others(around), ...secrets, ...rights, ...forms, ...large].map(
    ([sentence, dockerfile, says, more]) => ({
      sentence,
      says,
      files: { Dockerfile: dockerfile, out: 'link to ../../run/build/order.json', 'forks.js': FORKS },
      ...more,
    }),
  )
}
