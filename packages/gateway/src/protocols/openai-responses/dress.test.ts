import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dressEvent, dressReply, idDresser } from "./dress.ts";
import { dressId, ownId, providerId, undressId } from "./ids.ts";

const TOKEN = "0123456789ab";
const ACCOUNT = "01234567";

describe("ids", () => {
  it("keep the vendor's prefix first, and come back as they were", () => {
    expect(dressId("resp_0a7", TOKEN, "resp")).toBe(`resp_${TOKEN}_0a7`);
    expect(dressId("gen-17-x", TOKEN, "resp")).toBe(`resp_${TOKEN}.gen-17-x`);
    expect(dressId("rs_tmp_2kb", TOKEN, "item")).toBe(`rs_${TOKEN}_tmp_2kb`);
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.constantFrom("resp", "item"), (id, kind) => {
        fc.pre(undressId(id) === null);
        expect(undressId(dressId(id, TOKEN, kind))).toEqual({ token: TOKEN, id });
      }),
    );
    expect(dressId("", TOKEN, "resp")).toBe("");
    expect(providerId("call_x")).toBe("call_x");
    expect(undressId(ownId("msg", "req_01abcdefgh", 3))).toBeNull();
  });
});

describe("the dresser", () => {
  it("changes the ids of a response and of its items, and nothing that looks like one", () => {
    const body = `{ "id" : "resp_1","tools":[{"id":"x_1","item_id":"y_1"}],"output":[ {"id":"msg_2","content":[{"id":"z_1","text":"\\"id\\":\\"resp_9\\" ü"}]}], "previous_response_id":null, "conversation":{"id":"conv_3"},"metadata":{"id":"m_1"}}`;
    expect(dressReply(Buffer.from(body), TOKEN, ACCOUNT).toString()).toBe(
      body.replace("resp_1", `resp_${TOKEN}_1`).replace("msg_2", `msg_${TOKEN}_2`).replace("conv_3", `conv_${TOKEN}_3`),
    );
    const list = `{"object":"list","data":[{"id":"msg_1"}],"first_id":"msg_1","last_id":"msg_1"}`;
    expect(dressReply(Buffer.from(list), TOKEN, ACCOUNT).toString()).toBe(list.replaceAll("msg_1", `msg_${TOKEN}_1`));
  });

  it.each([
    ['event: x\ndata: {"type":"x","item_id":"msg_1","delta":"é \\"item_id\\":\\"q_1\\""}\n\n', "msg_1"],
    ['data:{"item":{"id":"fc_1","type":"function_call","call_id":"call_1"}}\r\n\r\n', "fc_1"],
    [': hi\nid: 3\ndata: {"response":{"id":"resp_1","output":[]}}\n\n', "resp_1"],
  ])("changes an event's ids in their place: %j", (raw, id) => {
    const data = raw.slice(raw.indexOf("{")).trimEnd();
    const [prefix, rest] = id.split("_");
    expect(dressEvent(Buffer.from(raw), data, TOKEN, ACCOUNT).toString()).toBe(
      raw.replace(id, `${prefix}_${TOKEN}_${rest}`),
    );
  });

  it("writes an event anew whose JSON is spread over lines", () => {
    const raw = Buffer.from('event: x\ndata: {"type":"x",\ndata: "item_id":"msg_é1"}\n\n');
    expect(dressEvent(raw, '{"type":"x",\n"item_id":"msg_é1"}', TOKEN, ACCOUNT).toString()).toBe(
      `event: x\ndata: {"type":"x",\ndata: "item_id":"msg_${TOKEN}_é1"}\n\n`,
    );
  });

  it("says whose thoughts are sealed, once", () => {
    const raw = 'data: {"item":{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"}}\n\n';
    const marked = raw.replace("rs_1", `rs_${TOKEN}_1`).replace("gAAA", `sga.${ACCOUNT}.gAAA`);
    expect(dressEvent(Buffer.from(raw), raw.slice(6).trim(), TOKEN, ACCOUNT).toString()).toBe(marked);
    expect(dressEvent(Buffer.from(marked), marked.slice(6).trim(), TOKEN, ACCOUNT).toString()).toBe(marked);
  });

  it("leaves comments and end marks alone", () => {
    const dresser = idDresser(TOKEN, ACCOUNT);
    for (const [raw, data] of [
      [": x\n\n", null],
      ["data: [DONE]\n\n", "[DONE]"],
    ] as const) {
      expect(dresser.event(Buffer.from(raw), data).toString()).toBe(raw);
    }
    expect(dresser.end()).toBeNull();
  });

  it("never changes anything but ids, whatever the JSON", () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (a, b) => {
        const body = `{"x":${a},"id":"resp_1","output":[{"y":${b},"id":"m_1"}]}`;
        const dressed = dressReply(Buffer.from(body), TOKEN, ACCOUNT).toString();
        expect(dressed.replace(`resp_${TOKEN}_1`, "resp_1").replace(`m_${TOKEN}_1`, "m_1")).toBe(body);
      }),
    );
  });
});
