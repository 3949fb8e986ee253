import { pushImage } from './image.ts'

/** Runs in the network of a node: puts images, given as JSON on standard input, into the registry named there. */
const chunks: Buffer[] = []
for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
const { registry, images } = JSON.parse(Buffer.concat(chunks).toString())
for (const image of images) await pushImage(registry, image)
