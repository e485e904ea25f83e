// A picture of a page as a PNG of at most 256 colours: base64 in, base64 out. Runs in an empty tab.
async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);

  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const part = (colour, n) => (colour >>> (8 * n)) & 255;
  const distance = (a, b) => [0, 1, 2].reduce((sum, n) => sum + (part(a, n) - part(b, n)) ** 2, 0);
  const places = new Map(palette.map((colour, place) => [colour, place]));
  const nearest = (colour) => {
    let best = 0;
    palette.forEach((other, place) => { if (distance(colour, other) < distance(colour, palette[best])) best = place; });
    places.set(colour, best);
    return best;
  };
  const rows = new Uint8Array((width + 1) * height); // each row begins with 0: no filter
  for (let n = 0; n < pixels.length; n++) {
    rows[n + 1 + Math.floor(n / width)] = places.get(pixels[n]) ?? nearest(pixels[n]);
  }

  const packed = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  const body = new Uint8Array(await new Response(packed).arrayBuffer());
  const table = Uint32Array.from({ length: 256 }, (_, n) => {
    for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
    return n;
  });
  const number = (value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);
  const chunk = (name, data) => {
    const named = [...name].map((letter) => letter.charCodeAt(0));
    let sum = 0xffffffff;
    for (const part of [named, data]) for (const byte of part) sum = (sum >>> 8) ^ table[(sum ^ byte) & 255];
    return [Uint8Array.from([...number(data.length), ...named]), data, Uint8Array.from(number(~sum))];
  };
  const colours = Uint8Array.from(palette.flatMap((colour) => [part(colour, 0), part(colour, 1), part(colour, 2)]));
  const head = Uint8Array.from([...number(width), ...number(height), 8, 3, 0, 0, 0]);
  const png = new Blob([
    Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10]),
    ...chunk("IHDR", head), ...chunk("PLTE", colours), ...chunk("IDAT", body), ...chunk("IEND", new Uint8Array()),
  ]);
  const url = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(png);
  });
  return url.split(",")[1];
}
